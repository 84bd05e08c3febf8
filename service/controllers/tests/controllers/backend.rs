//! A built-in Kubernetes API with all kinds, and a service on the same database, in this process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use muster_api::time::Timestamp;
use muster_controller::events::Events;
use muster_controller::namespaces::Namespaces;
use muster_controllers::Context;
use muster_core::rules::os_image::{self, OsImage};
use muster_kube_api::{Conversion, Conversions, Kind, KubeApi, SqlStorage};
use muster_operations::bridge::{BridgeState, BridgeStatus};
use muster_operations::images::live::LiveImages;
use muster_operations::{OperationSettings, Operations, testing};
use muster_outgoing::Networks;
use muster_resources::cluster_api::{conversion, names::GROUP};
use muster_resources::crds;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

/// Time limit of anything that controllers do. It is longer than their own limits (60 s for a reconcile), so only a hang reaches it.
pub const SOON: Duration = Duration::from_secs(120);

/// A service and the API that its controllers use.
pub struct Backend {
    pub client: Client,
    pub operations: Arc<Operations>,
    /// Dropping this value ends its background tasks.
    _api: KubeApi,
    _folder: Option<TempDir>,
}

impl Backend {
    /// The context of controllers that reach workload clusters anywhere.
    pub fn context(&self, events: Events) -> Context {
        Context::new(
            &self.client,
            self.operations.clone(),
            events,
            Namespaces::default(),
            Networks::of_api_servers(&[], true),
        )
    }

    /// With a service that has heard its hosts since this time.
    pub async fn open(listening_since: Timestamp) -> Self {
        Self::open_with(listening_since, Vec::new()).await
    }

    /// The same with OS images that hosts can be installed with.
    pub async fn open_with(listening_since: Timestamp, os_images: Vec<OsImage>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let backend = Self::open_in_with(folder.path(), listening_since, os_images).await;
        Self {
            _folder: Some(folder),
            ..backend
        }
    }

    /// The same on the database in a folder of the caller's.
    pub async fn open_in(folder: &Path, listening_since: Timestamp) -> Self {
        Self::open_in_with(folder, listening_since, Vec::new()).await
    }

    async fn open_in_with(folder: &Path, listening_since: Timestamp, os_images: Vec<OsImage>) -> Self {
        let store = testing::store(folder).await;
        let (readers, writers) = store.pools();
        let definitions = crds::own().into_iter().chain(crds::foreign());
        let mut definitions: Vec<Value> = definitions
            .map(|one| serde_json::to_value(one).unwrap())
            .collect();
        definitions.extend(crds::builtin());
        let storage = SqlStorage::new(Kind::Sqlite, readers, writers);
        let api = KubeApi::open_with(storage, definitions, conversions(), None)
            .await
            .unwrap();
        let client = Client::new(api.service(), "default");
        let settings = OperationSettings {
            os_images,
            ..testing::settings(&store, folder, listening_since).await
        };
        let operations = Arc::new(Operations::new(
            store,
            testing::no_tokens(),
            LiveImages::new([], [], None),
            BridgeState::new(BridgeStatus::Starting, true),
            settings,
        ));
        Self {
            client,
            operations,
            _api: api,
            _folder: None,
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

/// Images at another server for x86_64, by name and Kubernetes version; the first is the default.
pub fn os_images(images: &[(&str, &str)]) -> Vec<OsImage> {
    let entry = |(at, (name, kubernetes_version)): (usize, &(&str, &str))| {
        json!({
            "name": name, "kubernetes_version": kubernetes_version, "version": format!("build-{at}"),
            "cpu_architecture": "x86_64", "default": at == 0,
            "metal_url": format!("https://images.example.test/{name}.raw.zst"), "metal_sha256": "ab".repeat(32),
        })
    };
    let list: Vec<Value> = images.iter().enumerate().map(entry).collect();
    os_image::parse(&Value::from(list).to_string()).unwrap()
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
