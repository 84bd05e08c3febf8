//! Holds which namespaces this provider serves: two that take Agents for the Machines of the same namespace would undo each other's work.
//!
//! A provider serves a namespace for as long as it holds the Lease of cluster-api-provider-agent there, as the providers do that HyperShift
//! starts in the namespaces of control planes. So a service with `--capi-provider` takes that Lease in each namespace with objects of its
//! kinds, one after the other, and reconciles nothing in those where another provider has it. [`decision`] has the rules.

mod decision;
mod place;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt, future, stream};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kube::runtime::controller::Action;
use kube::runtime::reflector::{ObjectRef, Store};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use place::Place;

/// Between two looks at the namespaces, and two renewals of their Leases.
const INTERVAL: Duration = Duration::from_secs(15);

/// Between two looks for Leases that were not renewed in time: a small part of the time between that and their end.
const OVERDUE_INTERVAL: Duration = Duration::from_secs(2);

/// Namespaces that are looked at together.
const AT_ONCE: usize = 8;

/// Time for running reconciles when the turn in their namespace ends.
const FINISH_LIMIT: Duration = Duration::from_secs(3);

/// Time after which a namespace without objects is forgotten: a watch may not have shown the first one yet.
const FORGOTTEN: Duration = Duration::from_secs(120);

/// How the holders of Leases are named that are services with `--capi-provider`.
pub const SERVICE: &str = "muster-serve_";

/// A provider among others.
#[derive(Debug, Clone)]
pub struct Holder {
    /// The name in Leases: [`SERVICE`] with the namespace of the service, the same for all its replicas, of which one runs the provider.
    pub me: String,
    /// Serve namespaces although other providers do.
    pub take_over: bool,
}

/// The namespaces that the provider serves.
pub struct Turns {
    /// `None`: all of them, as there is no other provider, or the program that runs this one holds the Lease.
    holder: Option<Holder>,
    known: Mutex<HashMap<String, Known>>,
    /// Notified when an object of an unknown namespace is reconciled.
    met: Notify,
    changed: watch::Sender<u64>,
    looks: Mutex<Vec<LookAt>>,
}

/// Adds the objects of a kind to what is seen of each namespace.
type LookAt = Box<dyn Fn(&mut BTreeMap<String, Seen>) + Send + Sync>;

/// The provider's objects in a namespace.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// AgentClusters, which get Events.
    pub clusters: Vec<ObjectReference>,
    /// An AgentMachine is there that a provider would have put its finalizer on.
    pub is_undone: bool,
}

struct Known {
    /// `None`: another provider serves it, or it is not known yet which.
    turn: Option<Turn>,
    /// Time from which others may take the turn; `None`: it is not bound to a Lease.
    until: Option<Instant>,
    since: Instant,
}

impl Known {
    fn new() -> Self {
        Self {
            turn: None,
            until: None,
            since: Instant::now(),
        }
    }
}

/// The time in which a namespace is served.
#[derive(Clone, Default)]
struct Turn {
    stop: CancellationToken,
    running: TaskTracker,
}

impl Turns {
    /// Turns in all namespaces.
    pub fn alone() -> Arc<Self> {
        Self::of(None)
    }

    /// Turns of a provider that holds a Lease in each namespace that it serves.
    pub fn among_others(holder: Holder) -> Arc<Self> {
        Self::of(Some(holder))
    }

    fn of(holder: Option<Holder>) -> Arc<Self> {
        Arc::new(Self {
            holder,
            known: Mutex::default(),
            met: Notify::new(),
            changed: watch::Sender::new(0),
            looks: Mutex::default(),
        })
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `look` before each decision, with what was seen in stores before.
    pub fn look_by(&self, look: impl Fn(&mut BTreeMap<String, Seen>) + Send + Sync + 'static) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.push(Box::new(look));
    }

    fn seen(&self) -> BTreeMap<String, Seen> {
        let mut seen = BTreeMap::new();
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        for look in looks.iter() {
            look(&mut seen);
        }
        seen
    }

    /// Does `work` on an object of the namespace if it is served here, for as long as it is. Objects are reconciled again when that changes
    /// ([`Self::changes`]).
    ///
    /// # Errors
    /// Those of `work`.
    pub async fn within<E>(
        &self,
        namespace: &str,
        work: impl Future<Output = Result<Action, E>>,
    ) -> Result<Action, E> {
        if self.holder.is_none() {
            return work.await;
        }
        let Some(turn) = self.turn(namespace) else {
            return Ok(Action::await_change());
        };
        let _running = turn.running.token();
        let done = turn.stop.run_until_cancelled(work).await;
        done.unwrap_or_else(|| Ok(Action::await_change()))
    }

    fn turn(&self, namespace: &str) -> Option<Turn> {
        let mut known = self.known();
        if let Some(known) = known.get(namespace) {
            return known.turn.clone();
        }
        known.insert(namespace.to_owned(), Known::new());
        self.met.notify_one();
        None
    }

    /// All objects of a store, whenever this provider begins to serve a namespace.
    pub fn changes<K>(&self, own: Store<K>) -> impl Stream<Item = ObjectRef<K>> + Send + use<K>
    where
        K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
    {
        let changes = stream::unfold((own, self.changed.subscribe()), |(own, mut changed)| async move {
            // It fails when the provider has ended.
            changed.changed().await.ok()?;
            let all = own.state();
            let all: Vec<ObjectRef<K>> = all.iter().map(|one| ObjectRef::from_obj(&**one)).collect();
            Some((stream::iter(all), (own, changed)))
        });
        changes.flatten()
    }

    /// True in a namespace that another provider serves, or may serve: it is not known yet.
    pub fn is_of_others(&self, namespace: &str) -> bool {
        let known = self.known();
        let known = known.get(namespace);
        self.holder.is_some() && known.is_some_and(|known| known.turn.is_none())
    }

    /// Begins or continues a turn, which ends by itself at `until`.
    fn begin(&self, namespace: &str, until: Option<Instant>) {
        let mut known = self.known();
        let one = known.entry(namespace.to_owned()).or_insert_with(Known::new);
        one.until = until;
        if one.turn.is_some() {
            return;
        }
        one.turn = Some(Turn::default());
        drop(known);
        tracing::debug!(namespace, "the provider serves the namespace");
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Ends the turn: what runs gets a moment, and is cut off then. True when there was one.
    async fn end(&self, namespace: &str) -> bool {
        let turn = self.known().get_mut(namespace).and_then(|one| one.turn.take());
        let Some(turn) = turn else { return false };
        turn.running.close();
        // What is cut off is found again by the next provider.
        let _ = timeout(FINISH_LIMIT, turn.running.wait()).await;
        turn.stop.cancel();
        true
    }

    /// Finds out who serves which namespace, until `stop`; then gives the Leases back.
    pub async fn run(&self, context: &muster_controller::Context, stop: &CancellationToken) {
        let Some(holder) = &self.holder else {
            return stop.cancelled().await;
        };
        let mut places = HashMap::new();
        let looks = async {
            loop {
                self.round(context, holder, &mut places).await;
                tokio::select! {
                    () = sleep(INTERVAL) => {}
                    () = self.met.notified() => {}
                }
            }
        };
        tokio::select! {
            () = looks => {}
            () = self.end_overdue() => {}
            () = stop.cancelled() => {}
        }
        let all: Vec<_> = places
            .iter_mut()
            .map(|(namespace, place)| place.leave(namespace, self))
            .collect();
        in_part(all).await;
    }

    /// Ends turns whose Lease was not renewed in time, however long the looks at many namespaces take. Does not return.
    async fn end_overdue(&self) {
        loop {
            sleep(OVERDUE_INTERVAL).await;
            let now = Instant::now();
            for (namespace, known) in self.known().iter_mut() {
                if known.until.is_some_and(|until| until <= now)
                    && let Some(turn) = known.turn.take()
                {
                    tracing::warn!(
                        namespace,
                        "the provider's Lease could not be renewed in time; the namespace is left alone until it can"
                    );
                    turn.stop.cancel();
                }
            }
        }
    }

    async fn round(
        &self,
        context: &muster_controller::Context,
        holder: &Holder,
        places: &mut HashMap<String, Place>,
    ) {
        let seen = self.seen();
        let now = Instant::now();
        let (mut here, mut gone) = (Vec::new(), Vec::new());
        for (namespace, known) in self.known().iter() {
            let is_empty = !seen.contains_key(namespace) && now.duration_since(known.since) > FORGOTTEN;
            let names = if is_empty { &mut gone } else { &mut here };
            names.push(namespace.clone());
        }
        for namespace in &gone {
            if let Some(mut place) = places.remove(namespace) {
                place.leave(namespace, self).await;
            }
            self.known().remove(namespace);
        }
        for namespace in here.into_iter().chain(seen.keys().cloned()) {
            places
                .entry(namespace)
                .or_insert_with_key(|namespace| Place::new(context, namespace, holder));
        }
        let nothing = Seen::default();
        let (seen, nothing) = (&seen, &nothing);
        let all: Vec<_> = places
            .iter_mut()
            .map(|(namespace, place)| {
                let seen = seen.get(namespace).unwrap_or(nothing);
                place.attend(namespace, seen, self, context)
            })
            .collect();
        in_part(all).await;
    }
}

/// Does all of this, [`AT_ONCE`] at a time.
async fn in_part(all: Vec<impl Future<Output = ()> + Send>) {
    stream::iter(all)
        .buffer_unordered(AT_ONCE)
        .for_each(|()| future::ready(()))
        .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    use kube::runtime::reflector;
    use muster_controller::error::Error;
    use muster_resources::AgentCluster;

    fn holder() -> Holder {
        Holder {
            me: format!("{SERVICE}muster"),
            take_over: false,
        }
    }

    async fn work() -> Result<Action, Error> {
        Ok(Action::requeue(Duration::from_secs(7)))
    }

    #[tokio::test]
    async fn work_is_done_within_a_turn_only() {
        let done = Action::requeue(Duration::from_secs(7));
        assert_eq!(Turns::alone().within("c", work()).await.unwrap(), done);
        let turns = Turns::among_others(holder());
        assert_eq!(turns.within("c", work()).await.unwrap(), Action::await_change());
        turns.begin("c", None);
        assert_eq!(turns.within("c", work()).await.unwrap(), done);
        assert_eq!(turns.within("d", work()).await.unwrap(), Action::await_change());
        assert!(turns.end("c").await && !turns.end("c").await);
        assert_eq!(turns.within("c", work()).await.unwrap(), Action::await_change());
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_turn_waits_for_what_runs_and_not_for_ever() {
        let turns = Turns::among_others(holder());
        turns.begin("c", None);
        let hangs = turns.clone();
        let running = tokio::spawn(async move {
            let for_ever = std::future::pending::<Result<Action, Error>>();
            hangs.within("c", for_ever).await
        });
        while turns.known()["c"].turn.as_ref().unwrap().running.is_empty() {
            tokio::task::yield_now().await;
        }
        let began = tokio::time::Instant::now();
        assert!(turns.end("c").await);
        assert!(began.elapsed() >= FINISH_LIMIT);
        assert_eq!(running.await.unwrap().unwrap(), Action::await_change());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_ends_when_its_lease_was_not_renewed_in_time_whatever_else_is_looked_at() {
        let turns = Turns::among_others(holder());
        let now = Instant::now();
        turns.begin("c", Some(now + Duration::from_secs(3600)));
        turns.begin("d", Some(now + Duration::from_secs(3600)));
        assert!(!turns.is_of_others("c") && !turns.is_of_others("unknown"));
        // The time has come for one of them.
        turns.begin("c", Some(now));
        let _ = timeout(2 * OVERDUE_INTERVAL, turns.end_overdue()).await;
        assert!(turns.is_of_others("c") && !turns.is_of_others("d"));
        assert_eq!(turns.within("c", work()).await.unwrap(), Action::await_change());
        assert!(!Turns::alone().is_of_others("c"));
    }

    #[tokio::test]
    async fn the_beginning_of_a_turn_requests_all_objects() {
        let (store, mut writer) = reflector::store::<AgentCluster>();
        let object = serde_json::json!({"metadata": {"name": "one", "namespace": "c"}, "spec": {}});
        let object = serde_json::from_value(object).unwrap();
        writer.apply_watcher_event(&kube::runtime::watcher::Event::Apply(object));
        let turns = Turns::among_others(holder());
        let mut changes = Box::pin(turns.changes(store));
        turns.begin("c", None);
        let requested = changes.next().await.unwrap();
        assert_eq!(requested.name, "one");
        drop(turns);
        assert!(changes.next().await.is_none());
    }
}
