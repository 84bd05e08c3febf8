//! InfraEnvs as operations need them: from a short-lived cache when read, by one way when changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::infra_env::InfraEnvUpdateParams;
use muster_core::infra_env::{InfraEnv, news, update};
use muster_core::kube::KubeRef;
use muster_store::{Deletion, Store, StoreError};

use crate::app::now;
use crate::http::problem::Problem;
use crate::http::request_id;
use crate::random;

/// How long another replica's change may go unnoticed. Every poll of every host needs its InfraEnv.
const FRESH: Duration = Duration::from_secs(5);

/// Attempts at a change that others make at the same time.
const ATTEMPTS: usize = 8;

/// What is known of an id, and since when; `None`: deleted here, and ids are never used again.
type Entry = (Instant, Option<Arc<InfraEnv>>);

/// The InfraEnvs.
pub struct InfraEnvs {
    store: Store,
    cache: Mutex<HashMap<InfraEnvId, Entry>>,
    /// Of custom resources that were asked for and have one.
    by_kube: Mutex<HashMap<KubeRef, InfraEnvId>>,
}

impl InfraEnvs {
    /// Those in `store`.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            cache: Mutex::default(),
            by_kube: Mutex::default(),
        }
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, HashMap<InfraEnvId, Entry>> {
        self.cache
            .lock()
            .expect("no code panics while it holds the cache")
    }

    fn by_kube(&self) -> std::sync::MutexGuard<'_, HashMap<KubeRef, InfraEnvId>> {
        self.by_kube
            .lock()
            .expect("no code panics while it holds the names")
    }

    /// Keeps what was read or written, unless something newer is known: a slow read must not undo a quick change.
    fn keep(&self, infra_env: InfraEnv) -> Option<Arc<InfraEnv>> {
        let mut cache = self.cache();
        match cache.get(&infra_env.id) {
            Some((_, None)) => return None,
            Some((_, Some(known))) if known.version > infra_env.version => return Some(known.clone()),
            Some((_, Some(_))) | None => {}
        }
        let kept = Arc::new(infra_env);
        cache.insert(kept.id, (Instant::now(), Some(kept.clone())));
        Some(kept)
    }

    /// The InfraEnv with this id, at most [`FRESH`] old when another replica changed it.
    pub async fn find(&self, id: InfraEnvId) -> Result<Option<Arc<InfraEnv>>, StoreError> {
        let cached = self
            .cache()
            .get(&id)
            .filter(|(at, found)| found.is_none() || at.elapsed() < FRESH)
            .cloned();
        match cached {
            Some((_, found)) => Ok(found),
            None => self.refresh(id).await,
        }
    }

    /// The InfraEnv as it is stored now.
    pub async fn refresh(&self, id: InfraEnvId) -> Result<Option<Arc<InfraEnv>>, StoreError> {
        let found = self.store.find_infra_env(id).await?;
        if found.is_none() {
            self.cache().remove(&id);
        }
        Ok(found.and_then(|infra_env| self.keep(infra_env)))
    }

    /// Like [`Self::find`]; a 404 when there is none.
    pub async fn get(&self, id: InfraEnvId) -> Result<Arc<InfraEnv>, Problem> {
        self.find(id).await?.ok_or_else(|| gone(id))
    }

    /// The InfraEnv whose boot URLs carry `boot_id`. Never cached: a revoked URL is dead at once.
    pub async fn find_by_boot_id(&self, boot_id: &str) -> Result<Option<InfraEnv>, StoreError> {
        self.store.find_infra_env_by_boot_id(boot_id).await
    }

    /// The InfraEnv that belongs to this custom resource, at most [`FRESH`] old when another replica changed it.
    pub async fn find_by_kube(&self, kube: &KubeRef) -> Result<Option<Arc<InfraEnv>>, StoreError> {
        let known = self.by_kube().get(kube).copied();
        if let Some(id) = known {
            if let Some(found) = self.find(id).await? {
                return Ok(Some(found));
            }
            // A resource that was deleted and made again has another one.
            self.by_kube().remove(kube);
        }
        let Some(found) = self.store.find_infra_env_by_kube(kube).await? else {
            return Ok(None);
        };
        self.by_kube().insert(kube.clone(), found.id);
        Ok(self.keep(found))
    }

    /// Whether it belongs to a custom resource, which never changes; false when there is no such InfraEnv.
    pub async fn belongs_to_kube(&self, id: InfraEnvId) -> Result<bool, StoreError> {
        let cached = self.cache().get(&id).and_then(|(_, found)| found.clone());
        let found = match cached {
            Some(found) => Some(found),
            None => self.find(id).await?,
        };
        Ok(found.is_some_and(|found| found.kube.is_some()))
    }

    /// All, or those of a cluster.
    pub async fn list(&self, cluster_id: Option<ClusterId>) -> Result<Vec<InfraEnv>, StoreError> {
        self.store.list_infra_envs(cluster_id).await
    }

    /// Stores a new one, with the events that tell of it.
    pub async fn create(&self, mut made: InfraEnv) -> Result<Arc<InfraEnv>, Problem> {
        let events = news::created_events(&made, made.created_at);
        made.version = request_id::naming(&self.store)
            .insert_infra_env(&made, &events)
            .await?;
        tracing::info!(infra_env.id = %made.id, name = made.name, "InfraEnv created");
        let id = made.id;
        self.keep(made).ok_or_else(|| gone(id))
    }

    /// Applies a change to the newest state.
    pub async fn update(
        &self,
        id: InfraEnvId,
        params: &InfraEnvUpdateParams,
    ) -> Result<Arc<InfraEnv>, Problem> {
        self.change(id, |found| {
            let outcome = update::update(found, params.clone(), now())?;
            Ok(outcome.changed.then_some((outcome.infra_env, outcome.events)))
        })
        .await
    }

    /// Gives an InfraEnv a new boot id, so that the URLs handed out so far are dead.
    pub async fn revoke_urls(&self, id: InfraEnvId) -> Result<Arc<InfraEnv>, Problem> {
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

    /// Applies what `decide` makes of the newest state, again when others were faster; `None`: nothing is to be changed.
    pub(crate) async fn change(
        &self,
        id: InfraEnvId,
        decide: impl Fn(&InfraEnv) -> Result<Option<(InfraEnv, Vec<muster_core::event::NewEvent>)>, Problem>,
    ) -> Result<Arc<InfraEnv>, Problem> {
        for _ in 0..ATTEMPTS {
            let found = self.store.find_infra_env(id).await?;
            let found = found.ok_or_else(|| gone(id))?;
            let Some((mut next, events)) = decide(&found)? else {
                return self.keep(found).ok_or_else(|| gone(id));
            };
            // `Last-Modified` counts seconds, so that two changes within one would look the same.
            next.updated_at = next.updated_at.max(found.updated_at + TimeDelta::seconds(1));
            match request_id::naming(&self.store)
                .update_infra_env(&next, &events)
                .await
            {
                Ok(version) => {
                    next.version = version;
                    return self.keep(next).ok_or_else(|| gone(id));
                }
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Problem::conflict(
            "the InfraEnv is being changed by others again and again; try later",
        ))
    }

    /// Deletes one without hosts.
    pub async fn delete(&self, id: InfraEnvId) -> Result<(), Problem> {
        let found = self.get(id).await?;
        let outcome = request_id::naming(&self.store)
            .delete_infra_env(id, now(), &[news::deregistered(&found, now())])
            .await?;
        match outcome {
            Deletion::Deleted => {
                self.cache().insert(id, (Instant::now(), None));
                tracing::info!(infra_env.id = %id, "InfraEnv deleted");
                Ok(())
            }
            Deletion::Absent => Err(gone(id)),
            Deletion::Inhabited(hosts) => {
                let why = format!("infra_env {id} still has {hosts} host(s); delete them first");
                request_id::naming(&self.store)
                    .insert_events(&[news::deregister_failed(&found, &why, now())])
                    .await?;
                Err(Problem::invalid(why))
            }
        }
    }
}

fn gone(id: InfraEnvId) -> Problem {
    Problem::not_found(format!("infra_env {id}"))
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Conflict { .. } => Self::conflict(error.to_string()),
            StoreError::Missing { .. } => Self::Handler(http::StatusCode::NOT_FOUND, error.to_string()),
            _ if error.is_temporary() => {
                tracing::warn!(error = %chain(&error), "the database did not do it");
                Self::unavailable(error.to_string())
            }
            _ => {
                tracing::error!(error = %chain(&error), "the database refused");
                Self::internal()
            }
        }
    }
}

/// An error with its causes, for the log.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
