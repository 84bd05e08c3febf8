//! Clusters: from a cache that is right when read, by one way when changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use muster_api::cluster::{ClusterUpdateParams, IgnoredValidations};
use muster_api::ids::{ClusterId, HostId};
use muster_core::cluster::{Cluster, ignored, news, update};
use muster_core::event::NewEvent;
use muster_core::host::{ClusterFacts, Peer};
use muster_core::kube::KubeRef;
use muster_store::{ClusterDeletion, ClusterVersions, Store, StoreError, StoredCluster};

use crate::app::{App, now};
use crate::http::problem::Problem;
use crate::http::request_id;

/// Attempts at a change that others make at the same time.
const ATTEMPTS: usize = 8;

/// The clusters.
pub struct Clusters {
    store: Store,
    cache: Mutex<HashMap<ClusterId, Arc<Known>>>,
}

/// A cluster and all its hosts, as of two versions.
struct Known {
    versions: ClusterVersions,
    stored: StoredCluster,
    peers: Vec<Peer>,
}

/// A cluster as one of its hosts sees it.
pub struct Around {
    known: Arc<Known>,
    others: Vec<Peer>,
}

impl Around {
    /// For decisions. `None` when the cluster is deleted and its hosts are just being let go.
    pub fn facts(&self) -> Option<ClusterFacts<'_>> {
        self.known.stored.deleted_at.is_none().then_some(ClusterFacts {
            cluster: &self.known.stored.cluster,
            peers: &self.others,
        })
    }
}

impl Clusters {
    /// Those in `store`.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            cache: Mutex::default(),
        }
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, HashMap<ClusterId, Arc<Known>>> {
        self.cache
            .lock()
            .expect("no code panics while it holds the cache")
    }

    /// The cluster as `host` sees it. When nothing changed since it was last asked for, this reads one small row.
    pub async fn around(&self, id: ClusterId, host: HostId) -> Result<Option<Around>, StoreError> {
        let Some(known) = self.known(id).await? else {
            return Ok(None);
        };
        let others = known.peers.iter().filter(|peer| peer.id != host).cloned();
        Ok(Some(Around {
            others: others.collect(),
            known,
        }))
    }

    async fn known(&self, id: ClusterId) -> Result<Option<Arc<Known>>, StoreError> {
        let Some(versions) = self.store.cluster_versions(id).await? else {
            self.cache().remove(&id);
            return Ok(None);
        };
        let cached = self.cache().get(&id).cloned();
        if let Some(known) = cached.filter(|known| known.versions == versions) {
            return Ok(Some(known));
        }
        // Read after the versions: what is newer than they say is read once more next time.
        let Some(stored) = self.store.find_cluster(id).await? else {
            return Ok(None);
        };
        let known = Arc::new(Known {
            versions,
            stored,
            peers: self.store.list_cluster_peers(id).await?,
        });
        self.cache().insert(id, known.clone());
        Ok(Some(known))
    }

    /// The living cluster with this id; a 404 when there is none.
    pub async fn get(&self, id: ClusterId) -> Result<Cluster, Problem> {
        self.find(id, false).await.map(|found| found.cluster)
    }

    /// The cluster with this id, with `deleted` also a deleted one; a 404 when there is none.
    pub async fn find(&self, id: ClusterId, deleted: bool) -> Result<StoredCluster, Problem> {
        let found = self.store.find_cluster(id).await?;
        found
            .filter(|found| deleted || found.deleted_at.is_none())
            .ok_or_else(|| gone(id))
    }

    /// The living cluster that belongs to this custom resource.
    pub async fn find_by_kube(&self, kube: &KubeRef) -> Result<Option<Cluster>, StoreError> {
        self.store.find_cluster_by_kube(kube).await
    }

    /// All, with `deleted` also the deleted ones.
    pub async fn list(&self, deleted: bool) -> Result<Vec<StoredCluster>, StoreError> {
        self.store.list_clusters(deleted).await
    }

    /// Stores a new one.
    pub async fn create(&self, mut made: Cluster) -> Result<Cluster, Problem> {
        let events = [news::registered(&made, made.created_at)];
        made.version = request_id::naming(&self.store)
            .insert_cluster(&made, &events)
            .await?;
        tracing::info!(cluster.id = %made.id, name = made.data.name, "cluster imported");
        Ok(made)
    }

    /// Applies a change to the newest state.
    pub async fn update(&self, id: ClusterId, params: &ClusterUpdateParams) -> Result<Cluster, Problem> {
        self.change(id, |found| {
            let outcome = update::update(found, params.clone(), now())?;
            Ok(outcome.changed.then_some((outcome.cluster, outcome.events)))
        })
        .await
    }

    /// Has these checks ignored and no others.
    pub async fn ignore(&self, id: ClusterId, wanted: &IgnoredValidations) -> Result<Cluster, Problem> {
        self.change(id, |found| {
            Ok(ignored::ignore(found, wanted, now())?.map(|next| (next, Vec::new())))
        })
        .await
    }

    /// Applies what `decide` makes of the newest state, again when others were faster; `None`: nothing is to be changed.
    pub(crate) async fn change(
        &self,
        id: ClusterId,
        decide: impl Fn(&Cluster) -> Result<Option<(Cluster, Vec<NewEvent>)>, Problem>,
    ) -> Result<Cluster, Problem> {
        for _ in 0..ATTEMPTS {
            let found = self.get(id).await?;
            let Some((mut next, events)) = decide(&found)? else {
                return Ok(found);
            };
            match request_id::naming(&self.store)
                .update_cluster(&next, &events)
                .await
            {
                Ok(version) => {
                    next.version = version;
                    return Ok(next);
                }
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Problem::conflict(
            "the cluster is being changed by others again and again; try later",
        ))
    }

    /// Forgets a cluster and lets its hosts go.
    pub async fn delete(&self, app: &App, id: ClusterId) -> Result<(), Problem> {
        let found = self.get(id).await?;
        let events = [news::deregistered(&found, now())];
        match request_id::naming(&self.store)
            .delete_cluster(id, now(), &events)
            .await?
        {
            ClusterDeletion::Deleted => {}
            ClusterDeletion::Absent => return Err(gone(id)),
            ClusterDeletion::Installing(hosts) => {
                let why = format!(
                    "{hosts} host(s) of cluster {id} are being installed; wait for them, reset them or delete them first"
                );
                request_id::naming(&self.store)
                    .insert_events(&[news::deregister_failed(&found, &why, now())])
                    .await?;
                return Err(Problem::conflict(why));
            }
        }
        tracing::info!(cluster.id = %id, "cluster deleted");
        // What cannot be done now is done from the outbox.
        if let Err(problem) = app.hosts.cluster_changed(app, id).await {
            tracing::warn!(cluster.id = %id, ?problem, "its hosts could not be let go at once; trying again");
        }
        Ok(())
    }

    /// Whether the cluster is deleted; `None` when it never was.
    pub async fn is_deleted(&self, id: ClusterId) -> Result<Option<bool>, StoreError> {
        let known = self.known(id).await?;
        Ok(known.map(|known| known.stored.deleted_at.is_some()))
    }
}

fn gone(id: ClusterId) -> Problem {
    Problem::not_found(format!("cluster {id}"))
}
