//! Reads InfraEnvs through a short-lived cache, and creates, changes and deletes them.

pub(crate) mod boot_cache;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use moka::sync::Cache;
use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::infra_env::InfraEnvUpdateParams;
use muster_core::lifecycle::infra_env::{events, update};
use muster_core::record::{InfraEnv, KubeRef, NewEvent};
use muster_core::rules::input::Invalid;
use muster_core::rules::os_image::choose_live;
use muster_store::{Deletion, Store, StoreError, Subject};

use crate::error::OperationError;
use crate::images::os::OsImages;
use crate::infra_envs::boot_cache::BootMedia;
use crate::limits::refused_deletions::RefusedDeletions;
use crate::now;
use crate::retry::{retry, unless_conflict};
use crate::{Result, random, request_id};

/// Longest delay until another replica's change is seen of which no notification came. Every poll of every host needs its InfraEnv.
const TIME_TO_LIVE: Duration = Duration::from_secs(5);

/// Ids of deleted InfraEnvs are never used again; they are kept for as long as requests in flight may name them.
const DELETED_TIME_TO_LIVE: Duration = Duration::from_secs(3600);

/// The InfraEnvs of the service.
pub struct InfraEnvs {
    store: Store,
    cache: Cache<InfraEnvId, Arc<InfraEnv>>,
    deleted: Cache<InfraEnvId, ()>,
    /// The reasons of refused deletions in the last event about each.
    refusals: RefusedDeletions<InfraEnvId>,
    by_kube: Cache<KubeRef, InfraEnvId>,
    boot_media: Arc<BootMedia>,
    os_images: Arc<OsImages>,
}

impl InfraEnvs {
    pub fn new(store: Store, os_images: Arc<OsImages>) -> Self {
        let cache: Cache<InfraEnvId, Arc<InfraEnv>> = Cache::builder().time_to_live(TIME_TO_LIVE).build();
        let changing = cache.clone();
        store.on_change(move |change| {
            if let Subject::InfraEnv(id) = change.subject {
                changing.invalidate(&id);
            }
        });
        Self {
            boot_media: BootMedia::of(&store),
            store,
            cache,
            deleted: Cache::builder().time_to_live(DELETED_TIME_TO_LIVE).build(),
            refusals: RefusedDeletions::default(),
            by_kube: Cache::builder().build(),
            os_images,
        }
    }

    /// Filters events about settings that only the Muster live image cannot apply, if hosts are discovered with CoreOS.
    fn told(&self, infra_env: &InfraEnv, mut events: Vec<NewEvent>) -> Vec<NewEvent> {
        let settings = &infra_env.settings;
        let list = self.os_images.list();
        if choose_live(&list, &settings.openshift_version, settings.cpu_architecture).is_some() {
            events.retain(|event| event.name != events::NOT_APPLIED);
        }
        events
    }

    /// Caches a record that was written, or read since `started`, unless a newer version is cached: a slow read must
    /// not revert a quick change. Returns the cached record; `None` if it was deleted here.
    fn keep(&self, infra_env: InfraEnv, started: Instant) -> Option<Arc<InfraEnv>> {
        if self.deleted.contains_key(&infra_env.id) {
            return None;
        }
        // The entry of a change made meanwhile may have expired by now.
        if started.elapsed() >= TIME_TO_LIVE {
            return Some(Arc::new(infra_env));
        }
        let entry = self.cache.entry(infra_env.id).and_upsert_with(|cached| {
            cached
                .map(moka::Entry::into_value)
                .filter(|cached| cached.version > infra_env.version)
                .unwrap_or_else(|| Arc::new(infra_env))
        });
        Some(entry.into_value())
    }

    /// The InfraEnv with this id, at most 5 s old when another replica changed it without a notification.
    pub async fn find(&self, id: InfraEnvId) -> Result<Option<Arc<InfraEnv>>, StoreError> {
        if self.deleted.contains_key(&id) {
            return Ok(None);
        }
        match self.cache.get(&id) {
            Some(cached) => Ok(Some(cached)),
            None => self.refresh(id).await,
        }
    }

    /// The InfraEnv as it is stored now.
    pub async fn refresh(&self, id: InfraEnvId) -> Result<Option<Arc<InfraEnv>>, StoreError> {
        let started = Instant::now();
        let found = self.store.find_infra_env(id).await?;
        if found.is_none() {
            self.cache.invalidate(&id);
        }
        Ok(found.and_then(|infra_env| self.keep(infra_env, started)))
    }

    /// Like [`Self::refresh`].
    ///
    /// # Errors
    /// [`OperationError::Missing`] when there is none.
    pub(crate) async fn newest(&self, id: InfraEnvId) -> Result<Arc<InfraEnv>> {
        self.refresh(id).await?.ok_or_else(|| missing(id))
    }

    /// Like [`Self::find`].
    ///
    /// # Errors
    /// [`OperationError::Missing`] when there is none.
    pub async fn get(&self, id: InfraEnvId) -> Result<Arc<InfraEnv>> {
        self.find(id).await?.ok_or_else(|| missing(id))
    }

    /// The InfraEnv whose boot URLs have `boot_id`, at most 3 s old; older while the database does not respond, unless
    /// a change of it is known.
    pub async fn find_by_boot_id(&self, boot_id: &str) -> Result<Option<Arc<InfraEnv>>, StoreError> {
        self.boot_media.find(boot_id).await
    }

    /// The InfraEnv of this custom resource, at most 5 s old when another replica changed it without a notification.
    pub async fn find_by_kube(&self, kube: &KubeRef) -> Result<Option<Arc<InfraEnv>>, StoreError> {
        if let Some(id) = self.by_kube.get(kube) {
            let found = self.find(id).await?;
            if let Some(found) = found.filter(|found| found.kube.as_ref() == Some(kube)) {
                return Ok(Some(found));
            }
            // A resource that was deleted and created again has another InfraEnv, and an InfraEnv can be handed over to
            // another resource.
            self.by_kube.invalidate(kube);
        }
        let started = Instant::now();
        let Some(found) = self.store.find_infra_env_by_kube(kube).await? else {
            return Ok(None);
        };
        self.by_kube.insert(kube.clone(), found.id);
        Ok(self.keep(found, started))
    }

    /// All, or those of a cluster.
    pub async fn list(&self, cluster_id: Option<ClusterId>) -> Result<Vec<InfraEnv>, StoreError> {
        self.store.list_infra_envs(cluster_id).await
    }

    /// Stores a new InfraEnv together with its events.
    pub async fn create(&self, mut created: InfraEnv) -> Result<Arc<InfraEnv>> {
        let started = Instant::now();
        let events = self.told(&created, events::created_events(&created, created.created_at));
        created.version = request_id::naming(&self.store)
            .insert_infra_env(&created, &events)
            .await?;
        tracing::info!(infra_env.id = %created.id, name = created.name, "InfraEnv created");
        let id = created.id;
        self.keep(created, started).ok_or_else(|| missing(id))
    }

    /// The InfraEnv of a custom resource that was deleted while the resource stayed, for [`Self::revive`].
    pub async fn find_deleted(&self, kube: &KubeRef) -> Result<Option<InfraEnv>, StoreError> {
        self.store.find_deleted_infra_env(kube).await
    }

    /// The custom resource that a deleted InfraEnv had.
    pub async fn resource_of_deleted(&self, id: InfraEnvId) -> Result<Option<KubeRef>, StoreError> {
        self.store.resource_of_deleted_infra_env(id).await
    }

    /// Stores a deleted InfraEnv again, under its id and with its events. `again.version` is that of the deleted one.
    pub async fn revive(&self, mut again: InfraEnv) -> Result<Arc<InfraEnv>> {
        let started = Instant::now();
        let events = self.told(&again, events::created_events(&again, now()));
        again.version = request_id::naming(&self.store)
            .revive_infra_env(&again, &events)
            .await?;
        tracing::info!(infra_env.id = %again.id, name = again.name, "InfraEnv made again");
        let id = again.id;
        self.deleted.invalidate(&id);
        self.keep(again, started).ok_or_else(|| missing(id))
    }

    /// Applies a change to the newest state, if `check` accepts the result.
    pub async fn update(
        &self,
        id: InfraEnvId,
        params: &InfraEnvUpdateParams,
        check: impl Fn(&InfraEnv) -> Result<(), Invalid>,
    ) -> Result<Arc<InfraEnv>> {
        self.change(id, |found| {
            let outcome = update(found, params.clone(), now())?;
            check(&outcome.infra_env)?;
            Ok(outcome.changed.then_some((outcome.infra_env, outcome.events)))
        })
        .await
    }

    /// Gives an InfraEnv a new boot id, which revokes all existing URLs.
    pub async fn revoke_urls(&self, id: InfraEnvId) -> Result<Arc<InfraEnv>> {
        self.change(id, |found| {
            let renewed = InfraEnv {
                boot_id: random::boot_id(),
                updated_at: now(),
                ..found.clone()
            };
            Ok(Some((renewed, Vec::new())))
        })
        .await
    }

    /// Refuses all existing tokens of agents, and revokes the URLs of the images that hold them.
    pub async fn replace_tokens(&self, id: InfraEnvId) -> Result<Arc<InfraEnv>> {
        self.change(id, |found| {
            let mut renewed = InfraEnv {
                boot_id: random::boot_id(),
                updated_at: now(),
                ..found.clone()
            };
            renewed.settings.token_generation += 1;
            Ok(Some((renewed, Vec::new())))
        })
        .await
    }

    /// Stores the result of `decide` on the newest state, with retries if other writers were faster; `None`: no change.
    pub async fn change(
        &self,
        id: InfraEnvId,
        decide: impl Fn(&InfraEnv) -> Result<Option<(InfraEnv, Vec<NewEvent>)>>,
    ) -> Result<Arc<InfraEnv>> {
        retry(Subject::InfraEnv(id), || self.try_change(id, &decide)).await
    }

    async fn try_change(
        &self,
        id: InfraEnvId,
        decide: impl Fn(&InfraEnv) -> Result<Option<(InfraEnv, Vec<NewEvent>)>>,
    ) -> Result<Option<Arc<InfraEnv>>> {
        let started = Instant::now();
        let found = self.store.find_infra_env(id).await?;
        let found = found.ok_or_else(|| missing(id))?;
        let kept = |infra_env| self.keep(infra_env, started).ok_or_else(|| missing(id)).map(Some);
        let Some((mut next, events)) = decide(&found)? else {
            return kept(found);
        };
        next.updated_at = if found.is_only_linked(&next) {
            found.updated_at
        } else {
            // `Last-Modified` counts seconds, so that two changes within one would look the same.
            next.updated_at.max(found.updated_at + TimeDelta::seconds(1))
        };
        let events = self.told(&next, events);
        let written = request_id::naming(&self.store)
            .update_infra_env(&next, &events)
            .await;
        match unless_conflict(written)? {
            Some(version) => {
                next.version = version;
                kept(next)
            }
            None => Ok(None),
        }
    }

    /// Deletes an InfraEnv without hosts.
    pub async fn delete(&self, id: InfraEnvId) -> Result<()> {
        let found = self.get(id).await?;
        let outcome = request_id::naming(&self.store)
            .delete_infra_env(id, now(), &[events::deregistered(&found, now())])
            .await?;
        match outcome {
            Deletion::Deleted => {
                self.deleted.insert(id, ());
                self.cache.invalidate(&id);
                tracing::info!(infra_env.id = %id, "InfraEnv deleted");
                Ok(())
            }
            Deletion::Absent => Err(missing(id)),
            Deletion::Inhabited(hosts) => {
                let refused = OperationError::Inhabited {
                    name: found.name.clone(),
                    hosts,
                };
                let event = |why: &str| events::deregister_failed(&found, why, now());
                self.refusals.tell(&self.store, id, &refused, event).await?;
                Err(refused)
            }
        }
    }
}

fn missing(id: InfraEnvId) -> OperationError {
    OperationError::Missing(Subject::InfraEnv(id))
}

#[cfg(test)]
mod tests {
    use muster_core::record::Settings;

    use super::*;

    fn version(version: i64, id: InfraEnvId) -> InfraEnv {
        InfraEnv {
            id,
            name: "hw".into(),
            cluster_id: None,
            kube: None,
            mirror: None,
            boot_id: "b".repeat(22),
            version,
            created_at: now(),
            updated_at: now(),
            settings: Settings::default(),
        }
    }

    #[tokio::test]
    async fn a_slow_read_undoes_neither_a_change_nor_a_deletion() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/muster.db", folder.path().display());
        let infra_envs = InfraEnvs::new(
            Store::open(&url).await.unwrap(),
            Arc::new(OsImages::new(Vec::new())),
        );
        let (id, started) = (InfraEnvId::random(), Instant::now());
        infra_envs.keep(version(2, id), started).unwrap();
        assert_eq!(infra_envs.keep(version(1, id), started).unwrap().version, 2);
        assert_eq!(infra_envs.keep(version(3, id), started).unwrap().version, 3);
        assert_eq!(infra_envs.find(id).await.unwrap().unwrap().version, 3);
        let long_ago = started.checked_sub(TIME_TO_LIVE).unwrap();
        infra_envs.keep(version(4, id), long_ago).unwrap();
        assert_eq!(infra_envs.find(id).await.unwrap().unwrap().version, 3);
        infra_envs.deleted.insert(id, ());
        assert!(infra_envs.keep(version(5, id), started).is_none());
        assert!(infra_envs.find(id).await.unwrap().is_none());
    }
}
