//! Streams records that changed, deduplicated.
//!
//! A change is published by the writer after its commit, by PostgreSQL's notification when another replica wrote it,
//! and from the outbox if this replica has not published it (the process that wrote it died). A record that changes
//! again while it waits is streamed once, so that a slow subscriber sees the newest state and not every state.

pub mod log;

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::Stream;
use futures_util::stream::unfold;
use muster_api::ids::{BmcId, ClusterId, HostId, InfraEnvId};
use muster_store::{Store, Subject};
use tokio::sync::Notify;

/// The change feed. Cloning gives the same feed.
///
/// Subscribe first and list everything then: nothing is missed in between.
#[derive(Clone, Default)]
pub struct Changes {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    hosts: Versions<(InfraEnvId, HostId)>,
    bmcs: Versions<BmcId>,
    infra_envs: Topic<InfraEnvId>,
    clusters: Topic<ClusterId>,
    outbox: Notify,
}

impl Changes {
    /// The changes of `store`.
    pub fn of(store: &Store) -> Self {
        let changes = Self::default();
        let publisher = changes.clone();
        store.on_change(move |change| publisher.publish(change.subject, change.version));
        changes
    }

    /// Hosts that were changed, created or deleted, in all InfraEnvs. Endless.
    pub fn subscribe_hosts(&self) -> impl Stream<Item = (InfraEnvId, HostId)> + Send + use<> {
        self.inner.hosts.subscribe()
    }

    /// BMCs that were changed, added or deleted. Endless.
    pub fn subscribe_bmcs(&self) -> impl Stream<Item = BmcId> + Send + use<> {
        self.inner.bmcs.subscribe()
    }

    /// InfraEnvs that were changed, created or deleted. Endless.
    pub fn subscribe_infra_envs(&self) -> impl Stream<Item = InfraEnvId> + Send + use<> {
        self.inner.infra_envs.subscribe()
    }

    /// Clusters that were changed, created or deleted, or whose hosts changed facts that their peers need. Endless.
    pub fn subscribe_clusters(&self) -> impl Stream<Item = ClusterId> + Send + use<> {
        self.inner.clusters.subscribe()
    }

    /// True while hosts have a subscriber, as in the replica that runs the controllers.
    pub fn has_subscribers(&self) -> bool {
        self.inner.hosts.topic.has_subscribers()
    }

    /// Publishes a change; `version` 0: unknown.
    pub fn publish(&self, subject: Subject, version: i64) {
        match subject {
            Subject::Host { infra_env_id, id } => self.inner.hosts.publish((infra_env_id, id), version),
            Subject::Bmc(id) => self.inner.bmcs.publish(id, version),
            Subject::InfraEnv(id) => {
                self.inner.infra_envs.publish(id);
                self.inner.outbox.notify_one();
            }
            Subject::Cluster(id) => {
                self.inner.clusters.publish(id);
                self.inner.outbox.notify_one();
            }
            // The log of changes has them; no controller follows jobs.
            Subject::Job { .. } => {}
        }
    }

    /// Publishes a host's or a BMC's change from the outbox, which drops it then, unless it was published before.
    /// False: other records are not published from there.
    pub(crate) fn publish_from_outbox(&self, subject: Subject, version: i64) -> bool {
        match subject {
            Subject::Host { infra_env_id, id } => {
                self.inner.hosts.publish_from_outbox((infra_env_id, id), version);
            }
            Subject::Bmc(id) => self.inner.bmcs.publish_from_outbox(id, version),
            // Never in the outbox.
            Subject::Job { .. } => {}
            Subject::InfraEnv(_) | Subject::Cluster(_) => return false,
        }
        true
    }

    /// Waits until an InfraEnv or a cluster changes: then there is work in the outbox.
    pub(crate) async fn outbox_filled(&self) {
        self.inner.outbox.notified().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A topic that publishes each version once. A replica receives notifications of its own writes, too.
struct Versions<T> {
    topic: Topic<T>,
    /// Newest published version of each record that is still in the outbox.
    published: Mutex<HashMap<T, i64>>,
}

impl<T> Default for Versions<T> {
    fn default() -> Self {
        Self {
            topic: Topic::default(),
            published: Mutex::default(),
        }
    }
}

impl<T: Copy + Eq + Hash + Send + 'static> Versions<T> {
    fn subscribe(&self) -> impl Stream<Item = T> + Send + use<T> {
        if !self.topic.has_subscribers() {
            lock(&self.published).clear();
        }
        self.topic.subscribe()
    }

    fn publish(&self, key: T, version: i64) {
        if !self.topic.has_subscribers() {
            return;
        }
        {
            let mut published = lock(&self.published);
            let newest = published.entry(key).or_insert(0);
            if *newest >= version && version != 0 {
                return;
            }
            *newest = version.max(*newest);
        }
        self.topic.publish(key);
    }

    fn publish_from_outbox(&self, key: T, version: i64) {
        self.publish(key, version);
        let mut published = lock(&self.published);
        if published.get(&key).is_some_and(|newest| *newest <= version) {
            published.remove(&key);
        }
    }
}

/// Subscribers, each with a queue of its own. A dropped stream is unsubscribed.
struct Topic<T>(Mutex<Vec<Weak<Queue<T>>>>);

impl<T> Default for Topic<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Copy + Eq + Hash + Send + 'static> Topic<T> {
    fn subscribe(&self) -> impl Stream<Item = T> + Send + use<T> {
        let queue = Arc::new(Queue::default());
        lock(&self.0).push(Arc::downgrade(&queue));
        unfold(queue, |queue| async move { Some((queue.next().await, queue)) })
    }

    fn has_subscribers(&self) -> bool {
        lock(&self.0).iter().any(|queue| queue.strong_count() > 0)
    }

    fn publish(&self, item: T) {
        lock(&self.0).retain(|subscriber| match subscriber.upgrade() {
            Some(queue) => {
                queue.add(item);
                true
            }
            None => false,
        });
    }
}

/// Items that wait for one subscriber, each once.
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
            // An item added between the two leaves a permit.
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

    #[tokio::test]
    async fn every_subscriber_receives_a_change_once_however_often_it_is_published() {
        let changes = Changes::default();
        let (mut one, mut other) = (pin!(changes.subscribe_hosts()), pin!(changes.subscribe_hosts()));
        let (subject, key) = host();
        changes.publish(subject, 1);
        changes.publish(subject, 1);
        changes.publish(subject, 2);
        assert_eq!(one.next().await, Some(key));
        assert_eq!(other.next().await, Some(key));
        assert_eq!(one.next().now_or_never(), None);
        changes.publish(subject, 3);
        assert_eq!(one.next().await, Some(key));
    }

    #[tokio::test]
    async fn the_outbox_publishes_what_was_not_published_and_nothing_else() {
        let changes = Changes::default();
        let mut hosts = pin!(changes.subscribe_hosts());
        let (subject, key) = host();
        changes.publish(subject, 4);
        assert_eq!(hosts.next().await, Some(key));
        assert!(changes.publish_from_outbox(subject, 4));
        assert_eq!(hosts.next().now_or_never(), None);
        changes.publish_from_outbox(subject, 5);
        assert_eq!(hosts.next().await, Some(key));
        assert!(
            lock(&changes.inner.hosts.published).is_empty(),
            "what the outbox forgot is forgotten here"
        );
    }

    #[tokio::test]
    async fn nothing_is_kept_without_subscribers() {
        let changes = Changes::default();
        let (subject, _) = host();
        changes.publish(subject, 1);
        drop(changes.subscribe_hosts());
        changes.publish(subject, 2);
        assert!(!changes.has_subscribers());
        assert!(lock(&changes.inner.hosts.published).is_empty());
    }

    #[tokio::test]
    async fn a_dropped_subscriber_is_forgotten() {
        let changes = Changes::default();
        drop(changes.subscribe_clusters());
        changes.publish(Subject::Cluster(ClusterId::random()), 1);
        assert!(lock(&changes.inner.clusters.0).is_empty());
    }
}
