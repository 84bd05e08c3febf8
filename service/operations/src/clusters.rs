//! Creates, changes and deletes clusters, and shows them to their hosts.

pub(crate) mod cache;

use std::sync::Arc;

use muster_api::cluster::{ClusterUpdateParams, IgnoredValidations};
use muster_api::ids::{ClusterId, HostId};
use muster_core::lifecycle::cluster::{events, ignore, ui_settings, update};
use muster_core::record::{Cluster, InfraEnv, KubeRef, NewEvent, Secret};
use muster_core::rules::facts::controllers_see_nodes;
use muster_store::{ClusterDeletion, Store, StoreError, StoredCluster, Subject};

use crate::clusters::cache::ClusterCache;
pub use crate::clusters::cache::ClusterContext;
use crate::error::OperationError;
use crate::limits::refused_deletions::RefusedDeletions;
use crate::now;
use crate::retry::{retry, unless_conflict};
use crate::{Result, random, request_id};

/// The clusters of the service.
pub struct Clusters {
    store: Store,
    cache: Arc<ClusterCache>,
    refusals: RefusedDeletions<ClusterId>,
}

impl Clusters {
    pub fn new(store: Store) -> Self {
        Self {
            cache: ClusterCache::of(&store),
            refusals: RefusedDeletions::default(),
            store,
        }
    }

    /// The cluster as `host` sees it. Without changes nothing is read.
    pub async fn context(&self, id: ClusterId, host: HostId) -> Result<Option<ClusterContext>, StoreError> {
        let found = self.cache.get(id).await?;
        Ok(found.map(|cluster| ClusterContext::of(cluster, host)))
    }

    /// The cluster with this id.
    ///
    /// # Errors
    /// [`OperationError::Missing`] if there is none, or it is deleted.
    pub async fn get(&self, id: ClusterId) -> Result<Cluster> {
        self.find(id, false).await.map(|found| found.cluster)
    }

    /// The cluster with this id, with `deleted` also a deleted one.
    ///
    /// # Errors
    /// [`OperationError::Missing`] when there is none.
    pub async fn find(&self, id: ClusterId, deleted: bool) -> Result<StoredCluster> {
        let found = self.find_stored(id).await?;
        found
            .filter(|found| deleted || found.deleted_at.is_none())
            .ok_or_else(|| missing(id))
    }

    /// The cluster with this id, also a deleted one.
    pub async fn find_stored(&self, id: ClusterId) -> Result<Option<StoredCluster>, StoreError> {
        self.store.find_cluster(id).await
    }

    /// The version of the cluster's record, which changes of its hosts leave as it is.
    pub async fn version(&self, id: ClusterId) -> Result<Option<i64>, StoreError> {
        let versions = self.store.cluster_versions(id).await?;
        Ok(versions.map(|versions| versions.version))
    }

    /// True if controllers see the nodes of the hosts of `infra_env` in this cluster, if they are in one.
    pub async fn controllers_see_nodes(
        &self,
        infra_env: &InfraEnv,
        cluster: Option<ClusterId>,
    ) -> Result<bool, StoreError> {
        let cached = match cluster.filter(|_| infra_env.mirror.is_some()) {
            Some(id) => self.cache.get(id).await?,
            None => None,
        };
        let cluster = cached.as_ref().map(|cached| cached.cluster());
        Ok(controllers_see_nodes(infra_env, cluster))
    }

    /// The cluster of this custom resource.
    pub async fn find_by_kube(&self, kube: &KubeRef) -> Result<Option<Cluster>, StoreError> {
        self.store.find_cluster_by_kube(kube).await
    }

    /// All clusters, with `deleted` also the deleted ones.
    pub async fn list(&self, deleted: bool) -> Result<Vec<StoredCluster>, StoreError> {
        self.store.list_clusters(deleted).await
    }

    /// Stores a new cluster together with its event.
    pub async fn create(&self, mut created: Cluster) -> Result<Cluster> {
        created.data.url_key = Secret::new(random::boot_id());
        let events = [events::registered(&created, created.created_at)];
        created.version = request_id::naming(&self.store)
            .insert_cluster(&created, &events)
            .await?;
        tracing::info!(cluster.id = %created.id, name = created.data.name, "cluster imported");
        Ok(created)
    }

    /// The cluster of a custom resource that was deleted while the resource stayed, for [`Self::revive`].
    pub async fn find_deleted(&self, kube: &KubeRef) -> Result<Option<Cluster>, StoreError> {
        self.store.find_deleted_cluster(kube).await
    }

    /// Stores a deleted one again, under its id and with its events; URLs that were signed for it stay revoked. `again.version` is that of
    /// the deleted one.
    pub async fn revive(&self, mut again: Cluster) -> Result<Cluster> {
        again.data.url_key = Secret::new(random::boot_id());
        let events = [events::registered(&again, now())];
        again.version = request_id::naming(&self.store)
            .revive_cluster(&again, &events)
            .await?;
        tracing::info!(cluster.id = %again.id, name = again.data.name, "cluster made again");
        Ok(again)
    }

    /// Applies a change to the newest state.
    pub async fn update(&self, id: ClusterId, params: &ClusterUpdateParams) -> Result<Cluster> {
        self.change(id, |found| {
            let outcome = update(found, params.clone(), now())?;
            Ok(outcome.changed.then_some((outcome.cluster, outcome.events)))
        })
        .await
    }

    /// Sets which failed checks are ignored.
    pub async fn ignore(&self, id: ClusterId, wanted: &IgnoredValidations) -> Result<Cluster> {
        self.change(id, |found| {
            Ok(ignore::ignore(found, wanted, now())?.map(|next| (next, Vec::new())))
        })
        .await
    }

    /// Stores a text of user interfaces about a cluster.
    ///
    /// # Errors
    /// [`OperationError::Missing`]; a text that is too long.
    pub async fn set_ui_settings(&self, id: ClusterId, text: &str) -> Result<Cluster> {
        self.change(id, |found| {
            Ok(ui_settings::set(found, text, now())?.map(|next| (next, Vec::new())))
        })
        .await
    }

    /// Gives a cluster a new key for signed URLs, which revokes all existing ones.
    pub async fn revoke_urls(&self, id: ClusterId) -> Result<Cluster> {
        self.change(id, |found| {
            let mut renewed = found.clone();
            renewed.data.url_key = Secret::new(random::boot_id());
            renewed.updated_at = now();
            Ok(Some((renewed, Vec::new())))
        })
        .await
    }

    /// Stores the result of `decide` on the newest state, with retries if other writers were faster; `None`: no change.
    pub async fn change(
        &self,
        id: ClusterId,
        decide: impl Fn(&Cluster) -> Result<Option<(Cluster, Vec<NewEvent>)>>,
    ) -> Result<Cluster> {
        retry(Subject::Cluster(id), || self.try_change(id, &decide)).await
    }

    async fn try_change(
        &self,
        id: ClusterId,
        decide: impl Fn(&Cluster) -> Result<Option<(Cluster, Vec<NewEvent>)>>,
    ) -> Result<Option<Cluster>> {
        let found = self.get(id).await?;
        let Some((mut next, events)) = decide(&found)? else {
            return Ok(Some(found));
        };
        let written = request_id::naming(&self.store)
            .update_cluster(&next, &events)
            .await;
        Ok(unless_conflict(written)?.map(|version| {
            next.version = version;
            next
        }))
    }

    /// Deletes a cluster; its hosts are released by [`Operations::delete_cluster`](crate::Operations::delete_cluster).
    pub(crate) async fn delete(&self, id: ClusterId) -> Result<()> {
        let found = self.get(id).await?;
        let events = [events::deregistered(&found, now())];
        match request_id::naming(&self.store)
            .delete_cluster(id, now(), &events)
            .await?
        {
            ClusterDeletion::Deleted => {
                tracing::info!(cluster.id = %id, "cluster deleted");
                Ok(())
            }
            ClusterDeletion::Absent => Err(missing(id)),
            ClusterDeletion::Installing(hosts) => {
                let refused = OperationError::Installing {
                    name: found.data.name.clone(),
                    hosts,
                };
                let event = |why: &str| events::deregister_failed(&found, why, now());
                self.refusals.tell(&self.store, id, &refused, event).await?;
                Err(refused)
            }
        }
    }

    /// True when the cluster is deleted; `None` when it never existed.
    pub async fn is_deleted(&self, id: ClusterId) -> Result<Option<bool>, StoreError> {
        let found = self.cache.read_now(id).await?;
        Ok(found.map(|found| found.is_deleted()))
    }
}

fn missing(id: ClusterId) -> OperationError {
    OperationError::Missing(Subject::Cluster(id))
}
