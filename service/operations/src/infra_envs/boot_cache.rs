//! Caches the InfraEnvs whose boot URLs are in use, so that machines continue to boot while the database is
//! unavailable.
//!
//! Firmware and BMCs read a mounted ISO range by range for as long as the machine runs from it; a failed response ends
//! the boot. A cached InfraEnv is returned without a query for [`FRESH`]. After that the database is queried, and only
//! while it does not respond the cached InfraEnv is returned, for at most [`STALE`]. A change or deletion of an
//! InfraEnv, here or in another replica that sends notifications, drops it from the cache, and it is read again at
//! once: a revoked URL is refused as soon as the revocation is known.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use muster_api::ids::InfraEnvId;
use muster_core::record::InfraEnv;
use muster_store::{Store, StoreError, Subject};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::chain;

/// Longest delay until a change without a notification is seen.
const FRESH: Duration = Duration::from_secs(3);

/// Longest time that an InfraEnv is returned without having been read: long enough for every booting machine to come
/// up.
const STALE: Duration = Duration::from_secs(3600);

/// Time limit for the database if the response is known without it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Interval in which a database that did not respond is queried again for one InfraEnv.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// Cached InfraEnvs of a store.
pub(crate) struct BootMedia {
    store: Store,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    by_boot_id: HashMap<String, Place>,
    /// Number of received changes of InfraEnvs.
    changes: u64,
    /// True from the first query without a response until one succeeds. It is logged once.
    is_away: bool,
}

struct Place {
    infra_env: Arc<InfraEnv>,
    read_at: Instant,
    /// Time of the next query.
    ask_at: Instant,
}

impl BootMedia {
    /// Creates the cache of the InfraEnvs in `store`.
    pub(crate) fn of(store: &Store) -> Arc<Self> {
        let media = Arc::new(Self {
            store: store.clone(),
            kept: Mutex::default(),
        });
        let heard: Weak<Self> = Arc::downgrade(&media);
        store.on_change(move |change| {
            if let (Subject::InfraEnv(id), Some(media)) = (change.subject, heard.upgrade()) {
                let gone = media.changed(id);
                media.read_again(gone);
            }
        });
        media
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops an InfraEnv; returns its cached boot ids.
    fn changed(&self, id: InfraEnvId) -> Vec<String> {
        let mut kept = self.kept();
        kept.changes += 1;
        let gone = kept.by_boot_id.extract_if(|_, place| place.infra_env.id == id);
        gone.map(|(boot_id, _)| boot_id).collect()
    }

    /// Reads the InfraEnvs before the next request: the database may become unavailable in between.
    fn read_again(self: Arc<Self>, boot_ids: Vec<String>) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        for boot_id in boot_ids {
            let media = self.clone();
            runtime.spawn(async move {
                // A request for it returns the error.
                let _ = media.find(&boot_id).await;
            });
        }
    }

    /// The InfraEnv whose boot URLs have `boot_id`; `None` if there is none, or they were revoked.
    ///
    /// # Errors
    /// If the database fails and the InfraEnv was not read within [`STALE`].
    pub(crate) async fn find(&self, boot_id: &str) -> Result<Option<Arc<InfraEnv>>, StoreError> {
        let asked_at = Instant::now();
        let (changes, known) = {
            let mut kept = self.kept();
            let changes = kept.changes;
            let place = kept.by_boot_id.get_mut(boot_id);
            let place = place.filter(|place| asked_at.duration_since(place.read_at) < STALE);
            let known = place.map(|place| {
                let ask = place.ask_at <= asked_at;
                if ask {
                    // One query serves all requests in the meantime.
                    place.ask_at = asked_at + PATIENCE;
                }
                (place.infra_env.clone(), ask)
            });
            (changes, known)
        };
        let Some((infra_env, ask)) = known else {
            let read = self.store.find_infra_env_by_boot_id(boot_id).await?;
            return Ok(self.keep(boot_id, read, asked_at, changes));
        };
        if !ask {
            return Ok(Some(infra_env));
        }
        let why = match timeout(PATIENCE, self.store.find_infra_env_by_boot_id(boot_id)).await {
            Ok(Err(error)) if error.is_temporary() => chain(&error),
            Ok(read) => return Ok(self.keep(boot_id, read?, asked_at, changes)),
            Err(_) => "it did not answer in time".to_owned(),
        };
        if self.goes_on(boot_id, &why) {
            return Ok(Some(infra_env));
        }
        let read = self.store.find_infra_env_by_boot_id(boot_id).await?;
        Ok(self.keep(boot_id, read, asked_at, changes))
    }

    /// Caches the result of a query, unless an InfraEnv changed meanwhile, which may have been this one.
    fn keep(
        &self,
        boot_id: &str,
        read: Option<InfraEnv>,
        read_at: Instant,
        changes: u64,
    ) -> Option<Arc<InfraEnv>> {
        let mut kept = self.kept();
        if std::mem::take(&mut kept.is_away) {
            tracing::info!("the database answers again: boot URLs are checked as ever");
        }
        let Some(infra_env) = read.map(Arc::new) else {
            kept.by_boot_id.remove(boot_id);
            return None;
        };
        if kept.changes == changes {
            // Boot ids without recent requests.
            kept.by_boot_id.retain(|_, place| place.read_at.elapsed() < STALE);
            let place = Place {
                infra_env: infra_env.clone(),
                read_at,
                ask_at: read_at + FRESH,
            };
            kept.by_boot_id.insert(boot_id.to_owned(), place);
        }
        Some(infra_env)
    }

    /// Records that the database did not respond. False if a change of the InfraEnv was received since it was read.
    fn goes_on(&self, boot_id: &str, why: &str) -> bool {
        let mut kept = self.kept();
        if !std::mem::replace(&mut kept.is_away, true) {
            tracing::warn!(
                why,
                minutes = STALE.as_secs() / 60,
                "the database does not answer: machines that boot go on with what is known of their InfraEnvs"
            );
        }
        let place = kept.by_boot_id.get_mut(boot_id);
        place.is_some_and(|place| {
            place.ask_at = Instant::now() + ASK_AGAIN;
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use muster_core::record::Settings;

    use super::*;
    use crate::now;
    use crate::random;

    async fn with_infra_env() -> (tempfile::TempDir, Store, InfraEnv) {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/muster.db", folder.path().display());
        let store = Store::open(&url).await.unwrap();
        let mut infra_env = InfraEnv {
            id: InfraEnvId::random(),
            name: "hw".into(),
            cluster_id: None,
            kube: None,
            mirror: None,
            boot_id: random::boot_id(),
            version: 0,
            created_at: now(),
            updated_at: now(),
            settings: Settings::default(),
        };
        infra_env.version = store.insert_infra_env(&infra_env, &[]).await.unwrap();
        (folder, store, infra_env)
    }

    /// Makes the cached entries older.
    fn age(media: &BootMedia, by: Duration) {
        for place in media.kept().by_boot_id.values_mut() {
            place.read_at = place.read_at.checked_sub(by).unwrap();
            place.ask_at = place.ask_at.checked_sub(by).unwrap();
        }
    }

    #[tokio::test]
    async fn an_infra_env_is_read_once_and_ends_when_its_urls_are_revoked() {
        let (_folder, store, mut infra_env) = with_infra_env().await;
        let media = BootMedia::of(&store);
        let first = infra_env.boot_id.clone();
        let before = store.statement_counts().reads;
        for _ in 0..50 {
            assert_eq!(media.find(&first).await.unwrap().unwrap().id, infra_env.id);
        }
        assert_eq!(store.statement_counts().reads - before, 1);
        infra_env.boot_id = random::boot_id();
        store.update_infra_env(&infra_env, &[]).await.unwrap();
        assert!(media.find(&first).await.unwrap().is_none());
        assert!(media.find(&infra_env.boot_id).await.unwrap().is_some());
        age(&media, FRESH);
        assert!(media.find(&infra_env.boot_id).await.unwrap().is_some());
        infra_env.version += 1;
        infra_env.name = "other".into();
        store.update_infra_env(&infra_env, &[]).await.unwrap();
        let limit = Instant::now() + Duration::from_secs(20);
        while media.kept().by_boot_id.is_empty() {
            assert!(
                Instant::now() < limit,
                "what changed is read again before somebody asks"
            );
            tokio::task::yield_now().await;
        }
        assert_eq!(
            media.find(&infra_env.boot_id).await.unwrap().unwrap().name,
            "other"
        );
    }

    #[tokio::test]
    async fn without_the_database_what_is_known_is_told_for_a_limited_time() {
        let (_folder, store, infra_env) = with_infra_env().await;
        let media = BootMedia::of(&store);
        media.find(&infra_env.boot_id).await.unwrap();
        store.close().await;
        for _ in 0..3 {
            age(&media, FRESH);
            assert!(media.find(&infra_env.boot_id).await.unwrap().is_some());
        }
        assert!(media.find("another").await.is_err());
        age(&media, STALE);
        assert!(media.find(&infra_env.boot_id).await.is_err());
        media.changed(infra_env.id);
        assert!(media.find(&infra_env.boot_id).await.is_err());
    }
}
