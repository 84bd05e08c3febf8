//! Services on SQLite for tests.

#[cfg(test)]
pub(crate) mod world;

use std::path::Path;
use std::sync::Arc;

use muster_api::time::Timestamp;
use muster_core::record::BmcLimits;
use muster_core::rules::limits::WaitLimits;
use muster_core::rules::requirements::Requirements;
use muster_store::Store;

use crate::auth::{Auth, Keys};
use crate::hosts::HostSettings;
use crate::images::options::ImageOptions;
use crate::jobs::retention::Retention;
use crate::time::clock::SystemClock;
use crate::urls::Urls;
use crate::{OperationSettings, Operations};

/// The database in a folder.
pub async fn store(folder: &Path) -> Store {
    let url = format!("sqlite://{}/muster.db", folder.display());
    Store::open(&url).await.expect("SQLite opens")
}

/// Settings of a service that was started at that time. Each test changes what it is about.
pub async fn settings(store: &Store, folder: &Path, started: Timestamp) -> OperationSettings {
    let image_options = ImageOptions::open(store, String::new(), "", started).await;
    OperationSettings {
        hosts: HostSettings {
            requirements: Requirements::default(),
            agent_version: "muster-agent/0".into(),
            agent_image: None,
            replaces_agents: true,
            listening_since: started,
            installer_image: None,
            controller_image: None,
            node_agent: true,
            limits: WaitLimits::default(),
            max_hosts: 1000,
            max_inventories: 1 << 30,
        },
        urls: Urls {
            public: "http://muster.example.test".into(),
            boot: "http://muster.example.test:8091".into(),
        },
        image_options: image_options.expect("a new database has no options"),
        openshift_versions: vec!["4.20".into()],
        os_images: Vec::new(),
        downloaded_images: folder.join("os-images"),
        retention: Retention::default(),
        disk: None,
        bmcs: BmcLimits::default(),
        clock: Arc::new(SystemClock::default()),
    }
}

/// The tokens of a service that requires none.
pub fn no_tokens() -> Auth {
    let keys = Keys::from_pem(&Keys::generate()).expect("a new key is one");
    Auth::new(false, keys, None)
}

impl Operations {
    /// The database, for tests that write what no operation would.
    pub fn store(&self) -> &Store {
        &self.store
    }
}
