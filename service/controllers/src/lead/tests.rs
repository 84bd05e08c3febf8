//! Tests replicas that contend for the lease of a built-in API, which can be switched off.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::Api;
use muster_kube_api::{Kind, KubeApi, LocalService, SqlStorage};
use muster_operations::changes::Changes;
use muster_store::Store;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tower::ServiceExt;

use super::*;

/// Short, but a lease counts whole seconds.
const DURATIONS: LeaseDurations = LeaseDurations {
    lasts: Duration::from_secs(2),
    give_up: Duration::from_millis(1200),
    retry: Duration::from_millis(100),
};

const SOON: Duration = Duration::from_secs(20);

/// An API server, and how many replicas work at the same time.
struct World {
    api: KubeApi,
    working: Arc<AtomicUsize>,
    _folder: TempDir,
}

/// One replica.
struct Replica {
    state: Arc<BridgeState>,
    changes: Changes,
    stop: CancellationToken,
    away: Arc<AtomicBool>,
    begun: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

/// Counts a replica for as long as this value exists.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/kube.db", folder.path().display());
        let (readers, writers) = Store::open(&url).await.unwrap().pools();
        let storage = SqlStorage::new(Kind::Sqlite, readers, writers);
        Self {
            api: KubeApi::open(storage, Vec::new()).await.unwrap(),
            working: Arc::default(),
            _folder: folder,
        }
    }

    /// Returns a replica with work that panics at once the first `breaks` times.
    fn replica(&self, name: &str, breaks: usize) -> Replica {
        let away = Arc::new(AtomicBool::new(false));
        let lead = Lead::new(
            client(self.api.service(), away.clone()),
            "default",
            name.into(),
            DURATIONS,
        );
        let state = Arc::new(BridgeState::new(BridgeStatus::Starting, false));
        let (stop, begun) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
        let (working, begins) = (self.working.clone(), begun.clone());
        let changes = Changes::default();
        let feed = changes.clone();
        let work = move |stop: CancellationToken| {
            let both = working.fetch_add(1, Ordering::SeqCst);
            let counted = Counted(working.clone());
            let begun = begins.fetch_add(1, Ordering::SeqCst);
            let subscription = feed.subscribe_hosts();
            async move {
                let _held = (counted, subscription);
                assert_eq!(both, 0, "two replicas work at the same time");
                assert!(begun >= breaks, "broken on purpose");
                stop.cancelled().await;
            }
        };
        let (shared, until) = (state.clone(), stop.clone());
        Replica {
            state,
            changes,
            stop,
            away,
            begun,
            task: tokio::spawn(async move { lead.run(&shared, until, work).await }),
        }
    }
}

fn client(service: LocalService, away: Arc<AtomicBool>) -> Client {
    let gate = move |request| {
        let (service, away) = (service.clone(), away.clone());
        async move {
            if away.load(Ordering::SeqCst) {
                return Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused));
            }
            Ok(service
                .oneshot(request)
                .await
                .unwrap_or_else(|never| match never {}))
        }
    };
    Client::new(tower::service_fn(gate), "default")
}

impl Replica {
    async fn comes_to(&self, words: &str) {
        let come = async {
            while !self.state.status().to_string().contains(words) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if timeout(SOON, come).await.is_err() {
            panic!("{words:?} is awaited, it stays {}", self.state.status());
        }
    }

    async fn ends(self) {
        self.stop.cancel();
        timeout(SOON, self.task).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn one_leads_and_the_next_follows_at_once_when_it_ends() {
    let world = World::new().await;
    let one = world.replica("one", 0);
    one.comes_to("ok, leading").await;
    assert!(one.changes.has_subscribers());
    let two = world.replica("two", 0);
    two.comes_to("ok, one leads").await;
    assert!(!two.changes.has_subscribers());
    one.ends().await;
    two.comes_to("ok, leading").await;
    two.ends().await;
    assert_eq!(world.working.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn who_cannot_renew_stops_before_another_begins_and_follows_when_it_is_back() {
    let world = World::new().await;
    let one = world.replica("one", 0);
    one.comes_to("ok, leading").await;
    let two = world.replica("two", 0);
    two.comes_to("ok, one leads").await;
    one.away.store(true, Ordering::SeqCst);
    one.comes_to("no answer since").await;
    // The work itself asserts that the other has stopped.
    two.comes_to("ok, leading").await;
    assert!(!one.changes.has_subscribers());
    one.away.store(false, Ordering::SeqCst);
    one.comes_to("ok, two leads").await;
    assert_eq!(one.begun.load(Ordering::SeqCst), 1);
    one.ends().await;
    two.ends().await;
}

#[tokio::test]
async fn a_short_silence_stops_nothing_and_a_long_one_is_made_up_for() {
    let world = World::new().await;
    let one = world.replica("one", 0);
    one.comes_to("ok, leading").await;
    for (silence, begun) in [(DURATIONS.give_up / 4, 1), (DURATIONS.lasts, 2)] {
        one.away.store(true, Ordering::SeqCst);
        one.comes_to("no answer since").await;
        tokio::time::sleep(silence).await;
        one.away.store(false, Ordering::SeqCst);
        one.comes_to("ok, leading").await;
        assert_eq!(one.begun.load(Ordering::SeqCst), begun, "after {silence:?}");
    }
    one.ends().await;
}

#[tokio::test]
async fn work_that_breaks_is_begun_anew() {
    let world = World::new().await;
    let one = world.replica("one", 1);
    let again = async {
        while one.begun.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, again).await.expect("it is begun a second time");
    one.comes_to("ok, leading").await;
    one.ends().await;
}

#[tokio::test]
async fn who_ends_while_it_renews_gives_the_lease_back() {
    let world = World::new().await;
    let lead = |name: &str| {
        let client = client(world.api.service(), Arc::default());
        Lead::new(client, "default", name.into(), DURATIONS)
    };
    let (mut one, mut two) = (lead("one"), lead("two"));
    assert_eq!(one.lease.attempt().await.unwrap(), Turn::Mine);
    let cut_off = timeout(Duration::ZERO, one.lease.attempt()).await;
    assert!(cut_off.is_err(), "{cut_off:?}");
    one.release().await;
    assert_eq!(two.lease.attempt().await.unwrap(), Turn::Mine);
}

#[tokio::test]
async fn who_finds_the_lease_written_by_another_stops_at_once() {
    let world = World::new().await;
    let one = world.replica("one", 0);
    one.comes_to("ok, leading").await;
    // The holder is the same: the last writer is not known before the lease is read again.
    let leases = Api::<Lease>::namespaced(client(world.api.service(), Arc::default()), "default");
    let patch = kube::api::Patch::Merge(serde_json::json!({"metadata": {"labels": {"touched": "true"}}}));
    leases
        .patch(LEASE, &kube::api::PatchParams::default(), &patch)
        .await
        .unwrap();
    let again = async {
        while one.begun.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, again)
        .await
        .expect("its work was cut off, and is begun anew");
    one.comes_to("ok, leading").await;
    one.ends().await;
}
