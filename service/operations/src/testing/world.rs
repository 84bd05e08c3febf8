//! A service for tests of this crate, with clocks that the tests advance.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::TimeDelta;
use muster_api::host::{HostKind, HostStage, HostStatus};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::{
    Cluster, ClusterData, Host, HostData, HostState, InfraEnv, KubeRef, Progress, Secret, Settings,
};
use muster_store::HistoryEntry;
use tempfile::TempDir;

use crate::bridge::{BridgeState, BridgeStatus};
use crate::hosts::check_ins::Seen;
use crate::images::live::LiveImages;
use crate::jobs::{deadlines, flush};
use crate::now;
use crate::time::clock::Clock;
use crate::{Operations, random, testing};

pub(crate) const MINUTE: TimeDelta = TimeDelta::minutes(1);

/// Clocks that the tests advance.
pub(crate) struct Clocks(Mutex<(Timestamp, Duration)>);

impl Clocks {
    pub(crate) fn at(wall: Timestamp) -> Arc<Self> {
        Arc::new(Self(Mutex::new((wall, Duration::from_secs(1000)))))
    }

    pub(crate) fn pass(&self, time: TimeDelta) {
        self.0.lock().unwrap().1 += time.to_std().unwrap();
        self.set(time);
    }

    /// Sets only the wall clock, like an operator, or the end of a suspension.
    pub(crate) fn set(&self, by: TimeDelta) {
        self.0.lock().unwrap().0 += by;
    }
}

impl Clock for Clocks {
    fn wall(&self) -> Timestamp {
        self.0.lock().unwrap().0
    }

    fn monotonic(&self) -> Duration {
        self.0.lock().unwrap().1
    }
}

/// A service whose jobs the tests run.
pub(crate) struct World {
    pub(crate) clocks: Arc<Clocks>,
    pub(crate) operations: Arc<Operations>,
    folder: Arc<TempDir>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::on(folder, Clocks::at(now())).await
    }

    async fn on(folder: Arc<TempDir>, clocks: Arc<Clocks>) -> Self {
        let store = testing::store(folder.path()).await;
        let mut settings = testing::settings(&store, folder.path(), clocks.wall()).await;
        settings.hosts.max_hosts = 3;
        settings.retention.deleted = Some(TimeDelta::hours(72));
        settings.clock = clocks.clone();
        let operations = Arc::new(Operations::new(
            store,
            testing::no_tokens(),
            LiveImages::new([], [], None),
            BridgeState::new(BridgeStatus::Off, false),
            settings,
        ));
        let world = Self {
            clocks,
            operations,
            folder,
        };
        world.beat().await;
        world
    }

    /// Restarts the service.
    pub(crate) async fn start_again(self, after: TimeDelta) -> Self {
        self.operations
            .outages
            .leave(&self.operations.store)
            .await
            .unwrap();
        self.operations.store.close().await;
        self.clocks.pass(after);
        Self::on(self.folder, self.clocks).await
    }

    pub(crate) async fn beat(&self) {
        self.operations
            .outages
            .beat(&self.operations.store)
            .await
            .unwrap();
    }

    pub(crate) async fn judge(&self) {
        deadlines::work(&self.operations).await.unwrap();
    }

    /// Advances the time as for a running service; the `polling` hosts poll.
    pub(crate) async fn run(&self, time: TimeDelta, polling: &[&Host]) {
        let step = TimeDelta::seconds(10);
        for _ in 0..time.num_seconds() / step.num_seconds() {
            self.clocks.pass(step);
            self.beat().await;
            for host in polling {
                self.poll(host).await;
            }
            self.judge().await;
        }
        flush::flush(&self.operations).await;
    }

    pub(crate) async fn poll(&self, host: &Host) {
        let seen = Seen {
            at: self.operations.now(),
            host_clock: None,
            agent_version: None,
        };
        let hosts = &self.operations.hosts;
        hosts.poll(host.infra_env_id, host.id, seen, None).await.unwrap();
    }

    pub(crate) async fn status(&self, host: &Host) -> HostStatus {
        let found = self.operations.hosts.get(host.infra_env_id, host.id).await;
        found.unwrap().state.status()
    }

    /// A stored InfraEnv, which belongs to the resource `kube` if there is one.
    pub(crate) async fn infra_env(&self, name: &str, kube: Option<KubeRef>) -> InfraEnvId {
        let at = self.operations.now();
        let infra_env = InfraEnv {
            id: InfraEnvId::random(),
            name: name.into(),
            cluster_id: None,
            kube,
            mirror: None,
            boot_id: random::boot_id(),
            version: 0,
            created_at: at,
            updated_at: at,
            settings: Settings::default(),
        };
        let stored = self.operations.store.insert_infra_env(&infra_env, &[]).await;
        stored.unwrap();
        infra_env.id
    }

    /// A stored cluster.
    pub(crate) async fn cluster(&self) -> ClusterId {
        let at = self.operations.now();
        let cluster = Cluster {
            id: ClusterId::random(),
            kube: None,
            mirror: None,
            version: 0,
            created_at: at,
            updated_at: at,
            data: ClusterData::default(),
        };
        let stored = self.operations.store.insert_cluster(&cluster, &[]).await;
        stored.unwrap();
        cluster.id
    }

    /// A host of the pool, and one that is being installed; both have polled just now.
    pub(crate) async fn hosts(&self) -> (Host, Host) {
        let at = self.operations.now();
        let infra_env = self.infra_env("hw", None).await;
        let cluster = self.cluster().await;
        let mut pooled = Host {
            id: HostId::random(),
            infra_env_id: infra_env,
            cluster_id: None,
            state: HostState::DiscoveringUnbound,
            version: 0,
            due_at: Some(at),
            checked_in_at: at,
            inventory: None,
            reports: Default::default(),
            bootstrap_ignition: Secret::default(),
            data: HostData::new(at),
        };
        let mut installing = Host {
            id: HostId::random(),
            cluster_id: Some(cluster),
            state: HostState::InstallingInProgress,
            ..pooled.clone()
        };
        installing.data.kind = HostKind::AddToExistingClusterHost;
        installing.data.progress = Some(Progress {
            stage: HostStage::WritingImageToDisk,
            percentage: 40,
            info: String::new(),
            stage_started_at: at,
            stage_updated_at: at,
        });
        for host in [&mut pooled, &mut installing] {
            self.insert(host).await;
        }
        self.judge().await;
        self.run(MINUTE, &[&pooled, &installing]).await;
        (pooled, installing)
    }

    /// Stores a new host.
    pub(crate) async fn insert(&self, host: &mut Host) {
        let history = HistoryEntry {
            at: self.operations.now(),
            who: "agent".into(),
            event: "registration".into(),
            from: None,
            to: host.state.status(),
            reason: String::new(),
        };
        let stored = self.operations.store.insert_host(host, &history, &[]).await;
        host.version = stored.unwrap();
    }

    /// No host was lost.
    pub(crate) async fn all_is_well(&self, (pooled, installing): &(Host, Host)) {
        assert_eq!(self.status(pooled).await, HostStatus::DiscoveringUnbound);
        assert_eq!(self.status(installing).await, HostStatus::InstallingInProgress);
    }

    /// Both count as lost after three minutes of silence that is not due to the service.
    pub(crate) async fn silence_is_noticed(&self, hosts: &(Host, Host)) {
        self.run(MINUTE * 2, &[]).await;
        self.all_is_well(hosts).await;
        self.run(MINUTE + TimeDelta::seconds(20), &[]).await;
        assert_eq!(self.status(&hosts.0).await, HostStatus::DisconnectedUnbound);
        assert_eq!(self.status(&hosts.1).await, HostStatus::Error);
    }
}
