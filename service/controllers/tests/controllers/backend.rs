//! A built-in Kubernetes API with all kinds, and a service on the same database, in this process.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use muster_api::time::Timestamp;
use muster_core::rules::limits::WaitLimits;
use muster_core::rules::requirements::Requirements;
use muster_kube_api::{Conversion, Conversions, Kind, KubeApi, SqlStorage};
use muster_operations::auth::{Auth, Keys};
use muster_operations::bridge::{BridgeState, BridgeStatus};
use muster_operations::clock::SystemClock;
use muster_operations::hosts::HostSettings;
use muster_operations::image_options::ImageOptions;
use muster_operations::jobs::retention::Retention;
use muster_operations::live_image::LiveImages;
use muster_operations::urls::Urls;
use muster_operations::{OperationSettings, Operations};
use muster_resources::cluster_api::{conversion, names::GROUP};
use muster_resources::crds;
use muster_store::Store;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

/// Time limit of anything that controllers do. It is longer than their own limits (60 s for a reconcile), so only a hang reaches it.
pub const SOON: Duration = Duration::from_secs(120);

/// What controllers talk to.
pub struct Backend {
    pub client: Client,
    pub operations: Arc<Operations>,
    /// Its background tasks end with it.
    _api: KubeApi,
    _folder: TempDir,
}

impl Backend {
    /// With a service that has heard its hosts since this time.
    pub async fn open(listening_since: Timestamp) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/muster.db", folder.path().display());
        let store = Store::open(&url).await.unwrap();
        let (readers, writers) = store.pools();
        let definitions = crds::own().into_iter().chain(crds::foreign());
        let mut definitions: Vec<Value> = definitions
            .map(|one| serde_json::to_value(one).unwrap())
            .collect();
        definitions.extend(crds::builtin());
        let storage = SqlStorage::new(Kind::Sqlite, readers, writers);
        let api = KubeApi::open_with(storage, definitions, conversions())
            .await
            .unwrap();
        let client = Client::new(api.service(), "default");
        let keys = Keys::from_pem(&Keys::generate()).unwrap();
        let image_options = ImageOptions::open(&store, String::new(), "", listening_since)
            .await
            .unwrap();
        let settings = OperationSettings {
            hosts: HostSettings {
                requirements: Requirements::default(),
                agent_version: "muster-0".into(),
                agent_image: None,
                replaces_agents: true,
                listening_since,
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
            image_options,
            openshift_versions: vec!["4.20".into()],
            os_images: Vec::new(),
            downloaded_images: folder.path().join("os-images"),
            retention: Retention::default(),
            disk: None,
            bmcs: muster_core::record::BmcLimits::default(),
            clock: Arc::new(SystemClock::default()),
        };
        let operations = Arc::new(Operations::new(
            store,
            Auth::new(false, keys, None),
            LiveImages::new([], [], None),
            BridgeState::new(BridgeStatus::Starting, true),
            settings,
        ));
        Self {
            client,
            operations,
            _api: api,
            _folder: folder,
        }
    }
}

/// Converts a kind of Cluster API between its versions, as the service does.
#[derive(Debug)]
struct ClusterApi(conversion::Kind);

impl Conversion for ClusterApi {
    fn convert(&self, object: Value, to: &str) -> Value {
        conversion::convert(self.0, object, to)
    }
}

fn conversions() -> Conversions {
    Conversions::default()
        .with(GROUP, "Cluster", Arc::new(ClusterApi(conversion::Kind::Cluster)))
        .with(GROUP, "Machine", Arc::new(ClusterApi(conversion::Kind::Machine)))
}

/// Waits until `found` finds something.
pub async fn eventually<T>(what: &str, mut found: impl AsyncFnMut() -> Option<T>) -> T {
    let search = async {
        loop {
            if let Some(found) = found().await {
                return found;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, search)
        .await
        .unwrap_or_else(|_| panic!("{what} is awaited"))
}
