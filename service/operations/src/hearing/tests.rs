//! Time that was the service's own is charged to no host, whichever way it passed.

use muster_api::host::{HostKind, HostStage, HostStatus};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::{
    Cluster, ClusterData, Host, HostData, HostReports, HostState, InfraEnv, Progress, Secret, Settings,
};
use muster_core::rules::limits::WaitLimits;
use muster_core::rules::requirements::Requirements;
use muster_store::{EventQuery, HistoryEntry, Store};
use tempfile::TempDir;

use super::*;
use crate::auth::{Auth, Keys};
use crate::bridge::BridgeState;
use crate::check_ins::Seen;
use crate::clock::now;
use crate::hosts::HostSettings;
use crate::jobs::retention::Retention;
use crate::jobs::{deadlines, flush};
use crate::live_image::LiveImages;
use crate::urls::Urls;
use crate::{OperationSettings, Operations};

const MINUTE: TimeDelta = TimeDelta::minutes(1);

/// Clocks that move when told to.
struct Clocks(Mutex<(Timestamp, Duration)>);

impl Clocks {
    fn at(wall: Timestamp) -> Arc<Self> {
        Arc::new(Self(Mutex::new((wall, Duration::from_secs(1000)))))
    }

    fn pass(&self, time: TimeDelta) {
        self.0.lock().unwrap().1 += time.to_std().unwrap();
        self.set(time);
    }

    /// Sets the wall clock alone, as an operator does, or the end of a suspension.
    fn set(&self, by: TimeDelta) {
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

struct World {
    clocks: Arc<Clocks>,
    operations: Operations,
    folder: Arc<TempDir>,
}

impl World {
    async fn new() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::on(folder, Clocks::at(now())).await
    }

    async fn on(folder: Arc<TempDir>, clocks: Arc<Clocks>) -> Self {
        let url = format!("sqlite://{}/muster.db", folder.path().display());
        let settings = OperationSettings {
            hosts: HostSettings {
                requirements: Requirements::default(),
                agent_version: "muster-agent/0".into(),
                agent_image: None,
                listening_since: clocks.wall(),
                installer_image: None,
                controller_image: None,
                node_agent: true,
                limits: WaitLimits::default(),
                max_hosts: 3,
            },
            urls: Urls {
                public: "http://muster.example.test".into(),
                boot: "http://muster.example.test:8091".into(),
            },
            service_ca: String::new(),
            openshift_versions: vec!["4.20".into()],
            os_images: Vec::new(),
            retention: Retention::default(),
            clock: clocks.clone(),
        };
        let operations = Operations::new(
            Store::open(&url).await.unwrap(),
            Auth::new(false, Keys::from_pem(&Keys::generate()).unwrap(), None),
            LiveImages::new([]),
            BridgeState::new(false, false),
            settings,
        );
        let world = Self {
            clocks,
            operations,
            folder,
        };
        world.beat().await;
        world
    }

    /// The service starts again.
    async fn start_again(self, after: TimeDelta) -> Self {
        self.operations
            .hearing
            .leave(&self.operations.store)
            .await
            .unwrap();
        self.operations.store.close().await;
        self.clocks.pass(after);
        Self::on(self.folder, self.clocks).await
    }

    async fn beat(&self) {
        self.operations
            .hearing
            .beat(&self.operations.store)
            .await
            .unwrap();
    }

    async fn judge(&self) {
        deadlines::work(&self.operations).await.unwrap();
    }

    /// Time passes as it does for a service that runs; the `polling` hosts are heard.
    async fn run(&self, time: TimeDelta, polling: &[&Host]) {
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

    async fn poll(&self, host: &Host) {
        let seen = Seen {
            at: self.operations.now(),
            host_clock: None,
            agent_version: None,
        };
        let hosts = &self.operations.hosts;
        hosts.poll(host.infra_env_id, host.id, seen).await.unwrap();
    }

    async fn status(&self, host: &Host) -> HostStatus {
        let found = self.operations.hosts.get(host.infra_env_id, host.id).await;
        found.unwrap().state.status()
    }

    /// A host of the pool, and one that is being installed; both are heard now.
    async fn hosts(&self) -> (Host, Host) {
        let at = self.operations.now();
        let infra_env = InfraEnv {
            id: InfraEnvId::random(),
            name: "hw".into(),
            cluster_id: None,
            kube: None,
            mirror: None,
            boot_id: random::boot_id(),
            version: 0,
            created_at: at,
            updated_at: at,
            settings: Settings::default(),
        };
        let cluster = Cluster {
            id: ClusterId::random(),
            kube: None,
            mirror: None,
            version: 0,
            created_at: at,
            updated_at: at,
            data: ClusterData::default(),
        };
        let store = &self.operations.store;
        store.insert_infra_env(&infra_env, &[]).await.unwrap();
        store.insert_cluster(&cluster, &[]).await.unwrap();
        let mut pooled = Host {
            id: HostId::random(),
            infra_env_id: infra_env.id,
            cluster_id: None,
            state: HostState::DiscoveringUnbound,
            version: 0,
            due_at: Some(at),
            checked_in_at: at,
            inventory: None,
            reports: HostReports::default(),
            bootstrap_ignition: Secret::default(),
            data: HostData::new(at),
        };
        let mut installing = Host {
            id: HostId::random(),
            cluster_id: Some(cluster.id),
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
            let history = HistoryEntry {
                at,
                who: "agent".into(),
                event: "registration".into(),
                from: None,
                to: host.state.status(),
                reason: String::new(),
            };
            host.version = store.insert_host(host, &history, &[]).await.unwrap();
        }
        self.judge().await;
        self.run(MINUTE, &[&pooled, &installing]).await;
        (pooled, installing)
    }

    /// No host was lost.
    async fn all_is_well(&self, (pooled, installing): &(Host, Host)) {
        assert_eq!(self.status(pooled).await, HostStatus::DiscoveringUnbound);
        assert_eq!(self.status(installing).await, HostStatus::InstallingInProgress);
    }

    /// Both count as lost after three minutes of silence that nobody else is to blame for.
    async fn silence_is_noticed(&self, hosts: &(Host, Host)) {
        self.run(MINUTE * 2, &[]).await;
        self.all_is_well(hosts).await;
        self.run(MINUTE + TimeDelta::seconds(20), &[]).await;
        assert_eq!(self.status(&hosts.0).await, HostStatus::DisconnectedUnbound);
        assert_eq!(self.status(&hosts.1).await, HostStatus::Error);
    }
}

#[tokio::test]
async fn hosts_that_are_silent_are_lost_and_those_that_poll_are_not() {
    let world = World::new().await;
    let hosts = world.hosts().await;
    world.run(MINUTE * 10, &[&hosts.0, &hosts.1]).await;
    world.all_is_well(&hosts).await;
    world.silence_is_noticed(&hosts).await;
}

#[tokio::test]
async fn a_stop_for_any_time_is_charged_to_nobody() {
    for stop in [MINUTE * 4, TimeDelta::hours(30)] {
        let world = World::new().await;
        let hosts = world.hosts().await;
        // The process was stopped, or its database was away: no beat, and the deadline loop is the first to run.
        world.clocks.pass(stop);
        world.judge().await;
        world.all_is_well(&hosts).await;
        // Other events may come first, too.
        world.clocks.pass(stop);
        for host in [&hosts.0, &hosts.1] {
            let event = HostEvent::FactsChanged;
            world
                .operations
                .hosts
                .apply(host.infra_env_id, host.id, event)
                .await
                .unwrap();
        }
        world.all_is_well(&hosts).await;
        world.silence_is_noticed(&hosts).await;
    }
}

#[tokio::test]
async fn a_clock_that_is_set_either_way_loses_nobody_and_hides_nobody() {
    for by in [
        TimeDelta::minutes(4),
        TimeDelta::hours(9),
        -TimeDelta::minutes(4),
        -TimeDelta::hours(9),
    ] {
        let world = World::new().await;
        let hosts = world.hosts().await;
        world.clocks.set(by);
        world.judge().await;
        world.all_is_well(&hosts).await;
        world.run(MINUTE, &[&hosts.0, &hosts.1]).await;
        world.all_is_well(&hosts).await;
        world.silence_is_noticed(&hosts).await;
    }
}

#[tokio::test]
async fn a_stage_has_its_time_without_the_time_in_which_nothing_was_heard() {
    let world = World::new().await;
    let hosts = world.hosts().await;
    let polling = [&hosts.0, &hosts.1];
    world.run(MINUTE * 20, &polling).await;
    world.clocks.pass(MINUTE * 15);
    world.run(MINUTE * 7, &polling).await;
    let world = world.start_again(MINUTE * 25).await;
    world.judge().await;
    world.clocks.set(-TimeDelta::hours(2));
    world.run(TimeDelta::seconds(30), &polling).await;
    // Of its 30 minutes 28 were heard before the clock was set back, and they begin anew from there.
    world.all_is_well(&hosts).await;
    world.run(MINUTE * 29, &polling).await;
    world.all_is_well(&hosts).await;
    world.run(MINUTE * 2, &polling).await;
    assert_eq!(world.status(&hosts.1).await, HostStatus::Error);
    assert_eq!(world.status(&hosts.0).await, HostStatus::DiscoveringUnbound);
}

#[tokio::test]
async fn a_poll_that_the_database_cannot_answer_is_heard() {
    let world = World::new().await;
    let (pooled, _) = world.hosts().await;
    world.clocks.pass(MINUTE);
    world.operations.store.close().await;
    let at = world.operations.now();
    let seen = Seen {
        at,
        host_clock: None,
        agent_version: None,
    };
    let key = (pooled.infra_env_id, pooled.id);
    let hosts = &world.operations.hosts;
    // The first one may be answered from memory.
    let _ = hosts.poll(key.0, key.1, seen.clone()).await;
    assert_eq!(world.operations.check_ins.last(key).unwrap().at, at);
    let stranger = HostId::random();
    assert!(hosts.poll(key.0, stranger, seen).await.is_err());
    assert_eq!(world.operations.check_ins.last((key.0, stranger)), None);
}

/// Two replicas on one database, with clocks of their own.
struct Pair {
    world: World,
    other: Hearing,
    clocks: Arc<Clocks>,
    this: Hearing,
}

impl Pair {
    async fn new() -> Self {
        let world = World::new().await;
        let clocks = Clocks::at(world.clocks.wall());
        let hearing = |clocks: &Arc<Clocks>| {
            let shared: Arc<dyn Clock> = clocks.clone();
            Hearing::new((shared, Arc::default()), false, MINUTE * 3, clocks.wall())
        };
        let pair = Self {
            this: hearing(&world.clocks),
            other: hearing(&clocks),
            clocks,
            world,
        };
        let store = &pair.world.operations.store;
        // The service that was there before has left.
        pair.world.operations.hearing.leave(store).await.unwrap();
        pair.this.beat(store).await.unwrap();
        pair.pass(MINUTE * 5, true).await;
        pair
    }

    /// Time passes for both; this one beats, and the other if `both`.
    async fn pass(&self, time: TimeDelta, both: bool) {
        let store = &self.world.operations.store;
        for _ in 0..time.num_seconds() / 10 {
            for clocks in [&self.world.clocks, &self.clocks] {
                clocks.pass(TimeDelta::seconds(10));
            }
            self.this.beat(store).await.unwrap();
            if both {
                self.other.beat(store).await.unwrap();
            }
        }
    }

    fn heard_for(&self) -> TimeDelta {
        self.this.now() - self.this.heard().since
    }
}

#[tokio::test]
async fn silence_is_not_judged_while_another_replica_is_stopped_and_counts_from_its_return() {
    let pair = Pair::new().await;
    assert!(pair.heard_for() >= MINUTE * 5);
    pair.pass(MINUTE * 4, false).await;
    assert_eq!(pair.heard_for(), TimeDelta::zero());
    pair.pass(MINUTE, true).await;
    let heard = pair.heard_for();
    assert!(
        heard > TimeDelta::seconds(30) && heard < TimeDelta::seconds(70),
        "{heard}"
    );
    let deaf: TimeDelta = pair
        .this
        .heard()
        .deaf
        .iter()
        .map(|deaf| deaf.to - deaf.from)
        .sum();
    assert!(deaf >= MINUTE * 4 && deaf < MINUTE * 5, "{deaf}");
}

#[tokio::test]
async fn a_replica_that_left_or_never_comes_back_holds_nothing_up() {
    let pair = Pair::new().await;
    let store = &pair.world.operations.store;
    pair.other.leave(store).await.unwrap();
    pair.pass(MINUTE * 4, false).await;
    assert!(pair.heard_for() >= MINUTE * 9, "{}", pair.heard_for());

    let pair = Pair::new().await;
    pair.pass(MINUTE * 15, false).await;
    let heard = pair.heard_for();
    assert!(heard > MINUTE * 4 && heard < MINUTE * 6, "{heard}");
    let store = &pair.world.operations.store;
    let beats = store
        .beat("third", pair.this.now(), None, Timestamp::UNIX_EPOCH)
        .await
        .unwrap();
    assert_eq!(beats.replicas.len(), 2, "{beats:?}");
}

#[tokio::test]
async fn polls_that_cannot_be_written_for_the_others_stop_the_beat() {
    let pair = Pair::new().await;
    pair.this.polls_are_written(false);
    pair.pass(MINUTE, true).await;
    assert!(pair.this.is_in_doubt());
    assert_eq!(pair.heard_for(), TimeDelta::zero());
    assert_eq!(
        pair.other.heard().since,
        pair.other.now(),
        "the other waits for it"
    );
    pair.this.polls_are_written(true);
    pair.pass(MINUTE, true).await;
    assert!(!pair.this.is_in_doubt());
}

#[tokio::test]
async fn a_full_infra_env_refuses_new_hosts_with_one_event_and_keeps_those_it_has() {
    let world = World::new().await;
    let (pooled, _) = world.hosts().await;
    let hosts = &world.operations.hosts;
    let register = |id| hosts.register(pooled.infra_env_id, id, "agent", None);
    register(HostId::random()).await.unwrap();
    for _ in 0..3 {
        let refused = register(HostId::random()).await.unwrap_err();
        assert!(refused.to_string().contains("--max-hosts"), "{refused}");
    }
    register(pooled.id).await.unwrap();
    let events = world
        .operations
        .store
        .list_events(&EventQuery::default())
        .await
        .unwrap();
    let refusals = events
        .events
        .iter()
        .filter(|event| event.name == "host_registration_failed");
    assert_eq!(refusals.count(), 1);
}
