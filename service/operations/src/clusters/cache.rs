//! Caches clusters with the facts that their hosts share, until they change: a poll of a bound host reads no database.
//!
//! Changes are received like those of hosts: from writers here, and by notification from other replicas. While
//! notifications are not received, and after [`LOOK_AGAIN`], two small numbers are read that show if anything changed.
//! However many hosts need a cluster at the same time, it is read once. While the hosts of a large cluster change all
//! the time, reading it takes a tenth of that time at most: each change of a host leads to a validation of the whole
//! cluster, against the result of [`ClusterCache::read_now`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use muster_api::ids::{ClusterId, HostId};
use muster_core::record::Cluster;
use muster_core::rules::cluster_peers::{Members, Peers};
use muster_core::rules::facts::ClusterFacts;
use muster_store::{ClusterVersions, Store, StoreError, StoredCluster, Subject};

/// Interval in which the cache is compared with the database: a writer that is cancelled between its commit and its
/// notification notifies no cache.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// A cluster of so many hosts is large: further hosts change while it is read.
const LARGE: usize = 500;

/// Time for which a read cluster is used although some of its hosts have changed. `took`: duration of the read.
fn good_for(hosts: usize, took: Duration) -> Duration {
    if hosts < LARGE {
        Duration::ZERO
    } else {
        (took * 10).min(LOOK_AGAIN)
    }
}

/// The cached clusters.
pub(crate) struct ClusterCache {
    store: Store,
    good_for: fn(usize, Duration) -> Duration,
    places: Mutex<HashMap<ClusterId, Place>>,
}

/// A cluster and all its hosts, as of two versions.
pub(crate) struct CachedCluster {
    versions: ClusterVersions,
    stored: StoredCluster,
    members: Members,
    /// Until then it is used although some of the hosts have changed.
    good_until: Instant,
}

/// The entry of one cluster.
#[derive(Default)]
struct Place {
    cluster: Option<Arc<CachedCluster>>,
    /// Begin of the last read; `None` after a change.
    read_at: Option<Instant>,
    /// Number of received changes.
    changes: u64,
    /// Held while the cluster is read.
    reading: Arc<tokio::sync::Mutex<()>>,
}

/// A cluster as one of its hosts sees it.
pub struct ClusterContext {
    cluster: Arc<CachedCluster>,
    host: HostId,
}

impl ClusterContext {
    pub(crate) fn of(cluster: Arc<CachedCluster>, host: HostId) -> Self {
        Self { cluster, host }
    }

    /// For decisions. `None` when the cluster is deleted and its hosts are being released.
    pub fn facts(&self) -> Option<ClusterFacts<'_>> {
        let CachedCluster { stored, members, .. } = &*self.cluster;
        stored.deleted_at.is_none().then_some(ClusterFacts {
            cluster: &stored.cluster,
            peers: Peers::but(self.host, members),
        })
    }
}

impl CachedCluster {
    pub(crate) fn cluster(&self) -> &Cluster {
        &self.stored.cluster
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.stored.deleted_at.is_some()
    }
}

impl ClusterCache {
    /// The clusters of `store`.
    pub(crate) fn of(store: &Store) -> Arc<Self> {
        Self::with(store, good_for)
    }

    fn with(store: &Store, good_for: fn(usize, Duration) -> Duration) -> Arc<Self> {
        let cache = Arc::new(Self {
            store: store.clone(),
            good_for,
            places: Mutex::default(),
        });
        let heard: Weak<Self> = Arc::downgrade(&cache);
        store.on_change(move |change| {
            if let (Subject::Cluster(id), Some(cache)) = (change.subject, heard.upgrade()) {
                cache.changed(id);
            }
        });
        cache
    }

    fn places(&self) -> MutexGuard<'_, HashMap<ClusterId, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self, id: ClusterId) {
        if let Some(place) = self.places().get_mut(&id) {
            place.changes += 1;
            place.read_at = None;
        }
    }

    /// The cluster with its hosts; `None` when it never existed.
    pub(crate) async fn get(&self, id: ClusterId) -> Result<Option<Arc<CachedCluster>>, StoreError> {
        let asked_at = Instant::now();
        let is_heard = self.store.has_notifications();
        let since = if is_heard {
            asked_at.checked_sub(LOOK_AGAIN).unwrap_or(asked_at)
        } else {
            asked_at
        };
        self.since(id, since, true).await
    }

    /// The same, as it is stored now, whatever changes were received.
    pub(crate) async fn read_now(&self, id: ClusterId) -> Result<Option<Arc<CachedCluster>>, StoreError> {
        self.since(id, Instant::now(), false).await
    }

    /// The cluster from a read that began at `since` or later; with `may_rest` its hosts may be slightly older.
    async fn since(
        &self,
        id: ClusterId,
        since: Instant,
        may_rest: bool,
    ) -> Result<Option<Arc<CachedCluster>>, StoreError> {
        let kept = |place: &Place| {
            let cluster = place.cluster.as_ref()?;
            place
                .read_at
                .is_some_and(|at| at >= since)
                .then(|| cluster.clone())
        };
        let reading = {
            let mut places = self.places();
            let place = places.entry(id).or_default();
            if let Some(cluster) = kept(place) {
                return Ok(Some(cluster));
            }
            place.reading.clone()
        };
        let _reading = reading.lock().await;
        // Another task may have read it meanwhile.
        if let Some(cluster) = self.places().get(&id).and_then(kept) {
            return Ok(Some(cluster));
        }
        self.read(id, may_rest).await
    }

    async fn read(&self, id: ClusterId, may_rest: bool) -> Result<Option<Arc<CachedCluster>>, StoreError> {
        let began = Instant::now();
        let (changes, known) = match self.places().get(&id) {
            Some(place) => (place.changes, place.cluster.clone()),
            None => (0, None),
        };
        let Some(versions) = self.store.cluster_versions(id).await? else {
            self.places().remove(&id);
            return Ok(None);
        };
        let cluster = match known {
            Some(known) if known.versions == versions => known,
            Some(known)
                if may_rest && known.versions.version == versions.version && began < known.good_until =>
            {
                return Ok(Some(known));
            }
            // Read after the versions: a change in between leads to another read next time.
            _ => match self.load(id, versions).await? {
                Some(loaded) => Arc::new(loaded),
                None => return Ok(None),
            },
        };
        let mut places = self.places();
        let place = places.entry(id).or_default();
        place.cluster = Some(cluster.clone());
        place.read_at = (place.changes == changes).then_some(began);
        Ok(Some(cluster))
    }

    async fn load(
        &self,
        id: ClusterId,
        versions: ClusterVersions,
    ) -> Result<Option<CachedCluster>, StoreError> {
        let began = Instant::now();
        let Some(stored) = self.store.find_cluster(id).await? else {
            return Ok(None);
        };
        let peers = self.store.list_cluster_peers(id).await?;
        Ok(Some(CachedCluster {
            versions,
            stored,
            good_until: Instant::now() + (self.good_for)(peers.len(), began.elapsed()),
            members: peers.into(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use muster_core::record::ClusterData;

    use super::*;
    use crate::now;
    use crate::testing::world::World;

    #[tokio::test]
    async fn a_cluster_is_read_when_it_changes_and_once_for_all_who_ask() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/muster.db", folder.path().display());
        let store = Store::open(&url).await.unwrap();
        let mut cluster = Cluster {
            id: ClusterId::random(),
            kube: None,
            mirror: None,
            version: 0,
            created_at: now(),
            updated_at: now(),
            data: ClusterData::default(),
        };
        cluster.version = store.insert_cluster(&cluster, &[]).await.unwrap();
        let cache = ClusterCache::of(&store);
        let reads = || store.statement_counts().reads;
        let before = reads();
        let asking = (0..50).map(|_| cache.get(cluster.id));
        for found in futures_util::future::join_all(asking).await {
            assert!(!found.unwrap().unwrap().is_deleted());
        }
        assert_eq!(reads() - before, 3, "versions, cluster and hosts, once");
        cache.get(cluster.id).await.unwrap();
        assert_eq!(reads() - before, 3);
        cluster.data.name = "other".into();
        store.update_cluster(&cluster, &[]).await.unwrap();
        let found = cache.get(cluster.id).await.unwrap().unwrap();
        assert_eq!(found.stored.cluster.data.name, "other");
        assert_eq!(reads() - before, 6);
        cache.read_now(cluster.id).await.unwrap();
        assert_eq!(reads() - before, 7, "what is asked for now reads the versions");
        assert!(cache.get(ClusterId::random()).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_large_cluster_whose_hosts_change_all_the_time_is_not_read_each_time() {
        assert_eq!(good_for(LARGE - 1, Duration::from_secs(1)), Duration::ZERO);
        assert_eq!(
            good_for(LARGE, Duration::from_millis(300)),
            Duration::from_secs(3)
        );
        assert_eq!(good_for(LARGE, Duration::from_secs(60)), LOOK_AGAIN);

        let world = World::new().await;
        let (_, mut host) = world.hosts().await;
        let id = host.cluster_id.unwrap();
        let store = &world.operations.store;
        let cache = ClusterCache::with(store, |_, _| LOOK_AGAIN);
        let known = async || cache.get(id).await.unwrap().unwrap();
        assert_eq!(known().await.members.len(), 1);
        host.id = HostId::random();
        world.insert(&mut host).await;
        assert_eq!(known().await.members.len(), 1);
        let now = cache.read_now(id).await.unwrap().unwrap();
        assert_eq!(now.members.len(), 2);
        assert_eq!(known().await.members.len(), 2);
        // Changes of the cluster itself are used at once.
        let mut renamed = now.stored.cluster.clone();
        renamed.data.name = "other".into();
        host.id = HostId::random();
        world.insert(&mut host).await;
        store.update_cluster(&renamed, &[]).await.unwrap();
        assert_eq!(known().await.members.len(), 3);
        assert_eq!(known().await.stored.cluster.data.name, "other");
    }
}
