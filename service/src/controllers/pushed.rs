//! What changed in the database, for the controllers of the replica that leads.
//!
//! A change comes here the moment it is committed ([`Store::told`](muster_store::Store::told)), and once more from the outbox if it
//! did not. What waits is kept once a record, so that a controller that is slow sees the newest state and not every state.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::Stream;
use futures_util::stream::unfold;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_store::Subject;
use tokio::sync::Notify;

/// Changed records, for as many listeners as ask. Cloning gives the same.
///
/// Listen first and look at everything then: what changes meanwhile is told.
#[derive(Clone, Default)]
pub struct Pushed {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    listened_to: AtomicBool,
    hosts: Channel<(InfraEnvId, HostId)>,
    infra_envs: Channel<InfraEnvId>,
    clusters: Channel<ClusterId>,
    /// Versions of hosts that were told, until the outbox has forgotten them.
    told: Mutex<HashMap<(InfraEnvId, HostId), i64>>,
}

impl Pushed {
    /// Hosts that changed, came or went, of all InfraEnvs, also of those without a custom resource. It never ends.
    pub fn hosts(&self) -> impl Stream<Item = (InfraEnvId, HostId)> + Send + use<> {
        self.inner.hosts.listen()
    }

    /// InfraEnvs that changed, came or went. It never ends.
    pub fn infra_envs(&self) -> impl Stream<Item = InfraEnvId> + Send + use<> {
        self.inner.infra_envs.listen()
    }

    /// Clusters that changed, came or went, or whose hosts see each other in another light. It never ends.
    pub fn clusters(&self) -> impl Stream<Item = ClusterId> + Send + use<> {
        self.inner.clusters.listen()
    }

    /// Whether controllers run here: then they are told of hosts, and the outbox is theirs.
    pub fn is_listened_to(&self) -> bool {
        self.inner.listened_to.load(Ordering::Acquire)
    }

    /// Controllers begin or end. They look at everything when they begin.
    pub(super) fn listened_to(&self, listened_to: bool) {
        self.inner.listened_to.store(listened_to, Ordering::Release);
        lock(&self.inner.told).clear();
    }

    /// A record changed just now.
    pub fn tell(&self, subject: Subject, version: i64) {
        if !self.is_listened_to() {
            return;
        }
        match subject {
            Subject::Host { infra_env_id, id } => {
                let key = (infra_env_id, id);
                let mut told = lock(&self.inner.told);
                let known = told.entry(key).or_insert(0);
                // PostgreSQL tells a replica of its own changes, too.
                if *known < version || version == 0 {
                    *known = version.max(*known);
                    drop(told);
                    self.inner.hosts.tell(key);
                }
            }
            Subject::InfraEnv(id) => self.inner.infra_envs.tell(id),
            Subject::Cluster(id) => self.inner.clusters.tell(id),
        }
    }

    /// The outbox says that a record changed, and forgets it after this.
    pub fn tell_once_more(&self, subject: Subject, version: i64) {
        self.tell(subject, version);
        if let Subject::Host { infra_env_id, id } = subject {
            let mut told = lock(&self.inner.told);
            if told
                .get(&(infra_env_id, id))
                .is_some_and(|known| *known <= version)
            {
                told.remove(&(infra_env_id, id));
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listeners, each with a queue of its own. A listener that is dropped is forgotten.
struct Channel<T>(Mutex<Vec<Weak<Queue<T>>>>);

impl<T> Default for Channel<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Copy + Eq + Hash + Send + 'static> Channel<T> {
    fn listen(&self) -> impl Stream<Item = T> + Send + use<T> {
        let queue = Arc::new(Queue::default());
        lock(&self.0).push(Arc::downgrade(&queue));
        unfold(queue, |queue| async move { Some((queue.next().await, queue)) })
    }

    fn tell(&self, item: T) {
        lock(&self.0).retain(|listener| match listener.upgrade() {
            Some(queue) => {
                queue.add(item);
                true
            }
            None => false,
        });
    }
}

/// What waits for one listener, each record once.
struct Queue<T> {
    waiting: Mutex<(VecDeque<T>, HashSet<T>)>,
    filled: Notify,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            filled: Notify::new(),
        }
    }
}

impl<T: Copy + Eq + Hash> Queue<T> {
    fn add(&self, item: T) {
        let mut waiting = lock(&self.waiting);
        if waiting.1.insert(item) {
            waiting.0.push_back(item);
            drop(waiting);
            self.filled.notify_one();
        }
    }

    fn take(&self) -> Option<T> {
        let mut waiting = lock(&self.waiting);
        let item = waiting.0.pop_front()?;
        waiting.1.remove(&item);
        Some(item)
    }

    async fn next(&self) -> T {
        loop {
            if let Some(item) = self.take() {
                return item;
            }
            // A permit is kept when something comes between the two.
            self.filled.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::{FutureExt, StreamExt};

    use super::*;

    fn host() -> (Subject, (InfraEnvId, HostId)) {
        let (infra_env_id, id) = (InfraEnvId::random(), HostId::random());
        (Subject::Host { infra_env_id, id }, (infra_env_id, id))
    }

    fn listened_to() -> Pushed {
        let pushed = Pushed::default();
        pushed.listened_to(true);
        pushed
    }

    #[tokio::test]
    async fn every_listener_hears_a_change_once_however_often_it_is_told() {
        let pushed = listened_to();
        let (mut one, mut other) = (pin!(pushed.hosts()), pin!(pushed.hosts()));
        let (subject, key) = host();
        pushed.tell(subject, 1);
        pushed.tell(subject, 1);
        pushed.tell(subject, 2);
        assert_eq!(one.next().await, Some(key));
        assert_eq!(other.next().await, Some(key));
        assert_eq!(one.next().now_or_never(), None);
        pushed.tell(subject, 3);
        assert_eq!(one.next().await, Some(key));
    }

    #[tokio::test]
    async fn the_outbox_tells_what_was_not_told_and_nothing_else() {
        let pushed = listened_to();
        let mut hosts = pin!(pushed.hosts());
        let (subject, key) = host();
        pushed.tell(subject, 4);
        assert_eq!(hosts.next().await, Some(key));
        pushed.tell_once_more(subject, 4);
        assert_eq!(hosts.next().now_or_never(), None);
        pushed.tell_once_more(subject, 5);
        assert_eq!(hosts.next().await, Some(key));
        assert!(
            lock(&pushed.inner.told).is_empty(),
            "what the outbox forgot is forgotten here"
        );
    }

    #[tokio::test]
    async fn nothing_is_kept_where_nobody_leads() {
        let pushed = Pushed::default();
        let mut hosts = pin!(pushed.hosts());
        let (subject, _) = host();
        pushed.tell(subject, 1);
        assert_eq!(hosts.next().now_or_never(), None);
        assert!(lock(&pushed.inner.told).is_empty());
    }

    #[tokio::test]
    async fn a_listener_that_left_is_forgotten() {
        let pushed = listened_to();
        drop(pushed.clusters());
        pushed.tell(Subject::Cluster(ClusterId::random()), 1);
        assert!(lock(&pushed.inner.clusters.0).is_empty());
    }
}
