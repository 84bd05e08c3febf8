//! A fresh database for a test, and records to put into it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use muster_api::bmc::BmcCreateParams;
use muster_api::event::{Category, Severity};
use muster_api::host::HostStatus;
use muster_api::ids::{BmcId, ClusterId, HostId, InfraEnvId};
use muster_api::inventory::{Interface, Inventory};
use muster_api::time::Timestamp;
use muster_core::lifecycle::bmc::create as create_bmc;
use muster_core::record::{
    Bmc, Cluster, ClusterData, Host, HostData, HostState, InfraEnv, NewEvent, Settings,
};
use muster_store::{HistoryEntry, HostForm, Kind, Store};
use muster_tests::database::postgres::Postgres;
use serde_json::Map;
use sqlx::{AnyConnection, Connection};
use tempfile::TempDir;

/// A store on an empty database of its own.
pub struct World {
    pub store: Store,
    pub url: String,
    _folder: Option<TempDir>,
    pub cluster: Option<Arc<Postgres>>,
}

impl World {
    pub async fn new(kind: Kind) -> Self {
        let (url, folder, cluster) = match kind {
            Kind::Sqlite => {
                let folder = tempfile::tempdir().expect("a temporary folder");
                (
                    format!("sqlite://{}/muster.db", folder.path().display()),
                    Some(folder),
                    None,
                )
            }
            Kind::Postgres => {
                let cluster = Postgres::shared();
                (cluster.create_database(), None, Some(cluster))
            }
        };
        let store = Store::open(&url).await.expect("the database opens");
        Self {
            store,
            url,
            _folder: folder,
            cluster,
        }
    }

    /// Another replica on the same database.
    pub async fn another_store(&self) -> Store {
        Store::open(&self.url).await.expect("the database opens again")
    }

    /// Runs statements directly on the database.
    pub async fn sql(&self, sql: &str) {
        let mut connection = AnyConnection::connect(&self.url)
            .await
            .expect("a connection beside the store");
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        sqlx::raw_sql(sql)
            .execute(&mut connection)
            .await
            .expect("the statement is valid");
        connection.close().await.expect("the connection closes");
    }

    /// SQLite's files, in use as they are, that hold the text.
    pub fn files_with(&self, text: &str) -> Vec<PathBuf> {
        let Some(file) = self.url.strip_prefix("sqlite://") else {
            return Vec::new();
        };
        let folder = Path::new(file).parent().expect("a folder");
        let files = std::fs::read_dir(folder)
            .expect("files")
            .map(|entry| entry.expect("a file").path());
        let holds = |path: &PathBuf| {
            let bytes = std::fs::read(path).expect("it is read");
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        };
        files.filter(holds).collect()
    }

    /// A stored InfraEnv.
    pub async fn infra_env(&self) -> InfraEnv {
        let mut infra_env = infra_env();
        infra_env.version = self
            .store
            .insert_infra_env(&infra_env, &[])
            .await
            .expect("an InfraEnv is stored");
        infra_env
    }

    /// A stored cluster, without hosts.
    pub async fn cluster_record(&self) -> Cluster {
        let mut cluster = cluster();
        cluster.version = self
            .store
            .insert_cluster(&cluster, &[])
            .await
            .expect("a cluster is stored");
        cluster
    }

    /// A stored host of a cluster.
    pub async fn member(&self, infra_env_id: InfraEnvId, cluster_id: ClusterId) -> Host {
        let mut host = Host {
            cluster_id: Some(cluster_id),
            ..host(infra_env_id)
        };
        host.version = self
            .store
            .insert_host(&host, &registered(), &[])
            .await
            .expect("a host of a cluster is stored");
        host
    }

    /// A stored host.
    pub async fn host(&self, infra_env_id: InfraEnvId) -> Host {
        let mut host = host(infra_env_id);
        host.version = self
            .store
            .insert_host(&host, &registered(), &[])
            .await
            .expect("a host is stored");
        host
    }
}

/// The hosts of an InfraEnv, oldest first.
pub async fn all_hosts(store: &Store, infra_env_id: InfraEnvId) -> Vec<Host> {
    let keys = store.list_host_keys(infra_env_id).await.expect("keys of hosts");
    read(store, &keys).await
}

/// The hosts of a cluster, oldest first.
pub async fn cluster_hosts(store: &Store, id: ClusterId) -> Vec<Host> {
    let keys = store.list_cluster_host_keys(id).await.expect("keys of hosts");
    read(store, &keys).await
}

async fn read(store: &Store, keys: &[(InfraEnvId, HostId)]) -> Vec<Host> {
    store.read_hosts(keys, HostForm::Whole).await.expect("hosts")
}

/// So many seconds after a fixed time.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp_micros(1_795_000_000_123_456 + seconds * 1_000_000).expect("a moment")
}

pub fn infra_env() -> InfraEnv {
    let id = InfraEnvId::random();
    InfraEnv {
        id,
        name: "hw".into(),
        cluster_id: None,
        kube: None,
        mirror: None,
        boot_id: id.to_string().replace('-', "")[..22].to_owned(),
        version: 0,
        created_at: at(0),
        updated_at: at(0),
        settings: Settings::default(),
    }
}

pub fn cluster() -> Cluster {
    Cluster {
        id: ClusterId::random(),
        kube: None,
        mirror: None,
        version: 0,
        created_at: at(0),
        updated_at: at(0),
        data: ClusterData {
            name: "day2".into(),
            ..ClusterData::default()
        },
    }
}

pub fn host(infra_env_id: InfraEnvId) -> Host {
    Host {
        id: HostId::random(),
        infra_env_id,
        cluster_id: None,
        state: HostState::DiscoveringUnbound,
        version: 0,
        due_at: None,
        checked_in_at: at(0),
        inventory: None,
        reports: Default::default(),
        bootstrap_ignition: Default::default(),
        data: HostData {
            status_info: "Waiting for its inventory".into(),
            ..HostData::new(at(0))
        },
    }
}

pub fn bmc(infra_env_id: InfraEnvId, address: &str) -> Bmc {
    let params = BmcCreateParams {
        name: Some(format!("at {address}")),
        address: address.into(),
        user_name: "root".into(),
        password: "calvin".into(),
        certificate: None,
        system_id: None,
        boot: None,
        discover: None,
    };
    create_bmc(params, infra_env_id, BmcId::random(), at(0)).expect("a BMC")
}

pub fn inventory(hostname: &str, macs: &[&str]) -> Inventory {
    let interfaces = macs.iter().map(|mac| Interface {
        mac_address: (*mac).into(),
        ..Interface::default()
    });
    Inventory {
        hostname: hostname.into(),
        interfaces: interfaces.collect(),
        ..Inventory::default()
    }
}

pub fn registered() -> HistoryEntry {
    HistoryEntry {
        at: at(0),
        who: "agent".into(),
        event: "registered".into(),
        from: None,
        to: HostStatus::DiscoveringUnbound,
        reason: "Waiting for its inventory".into(),
    }
}

pub fn became_known() -> HistoryEntry {
    HistoryEntry {
        at: at(5),
        who: "agent".into(),
        event: "inventory".into(),
        from: Some(HostStatus::DiscoveringUnbound),
        to: HostStatus::KnownUnbound,
        reason: "Ready to be bound".into(),
    }
}

pub fn event(seconds: i64, message: &str) -> NewEvent {
    NewEvent {
        name: "host_status_updated".into(),
        severity: Severity::Info,
        category: Category::User,
        message: message.into(),
        props: Map::new(),
        host_id: None,
        infra_env_id: None,
        cluster_id: None,
        at: at(seconds),
    }
}

pub fn event_of(host: &Host, message: &str) -> NewEvent {
    NewEvent {
        host_id: Some(host.id),
        infra_env_id: Some(host.infra_env_id),
        ..event(0, message)
    }
}

pub fn cluster_event(
    cluster_id: ClusterId,
    host_id: Option<HostId>,
    seconds: i64,
    message: &str,
) -> NewEvent {
    NewEvent {
        cluster_id: Some(cluster_id),
        host_id,
        ..event(seconds, message)
    }
}
