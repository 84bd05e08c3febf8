//! The state that all requests share: storage, watch cache, and the registry of resources.

use std::sync::Arc;

use tokio::sync::{Mutex, Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::error::{ApiError, Result};
use crate::object;
use crate::openapi::OpenApi;
use crate::request::{Hide, RequestInfo};
use crate::resources::{Conversions, Registry, crd};
use crate::storage::{Change, Changes, Key, ListQuery, Revision, SqlStorage};
use crate::watch_cache::WatchCache;

/// Watches that read older changes at the same time.
const READING_OLDER: usize = 2;

/// The state of an API server.
pub struct Server {
    pub(crate) storage: SqlStorage,
    pub(crate) watch_cache: Arc<WatchCache>,
    /// Notified when a CRD was written, by any replica.
    pub(crate) definitions_changed: Arc<Notify>,
    /// Permits of watches that lag behind.
    reading_older: Semaphore,
    conversions: Conversions,
    /// Removes what read-only callers may not see of objects.
    pub(crate) viewers_hide: Option<Hide>,
    registry: watch::Sender<Arc<Registry>>,
    /// Held while the CRDs are read, so that an older registry never replaces a newer one.
    loading: Mutex<()>,
    pub(crate) open_api: OpenApi,
    /// Ends watches and background tasks.
    pub(crate) stop: CancellationToken,
}

impl Server {
    /// The server before any CRD is read.
    ///
    /// # Errors
    /// If the database does not respond.
    pub async fn new(
        storage: SqlStorage,
        conversions: Conversions,
        viewers_hide: Option<Hide>,
        stop: CancellationToken,
    ) -> Result<Self> {
        let (revision, _) = storage.revisions().await?;
        let watch_cache = Arc::new(WatchCache::starting_after(revision));
        let definitions_changed = Arc::new(Notify::new());
        let (cache, notified) = (watch_cache.clone(), definitions_changed.clone());
        storage.on_commit(move |change| {
            cache.add(change.clone());
            if &*change.key.resource == crd::STORAGE_NAME {
                notified.notify_one();
            }
        });
        Ok(Self {
            storage,
            watch_cache,
            definitions_changed,
            reading_older: Semaphore::new(READING_OLDER),
            registry: watch::Sender::new(Arc::new(Registry::new(&[], &conversions))),
            conversions,
            viewers_hide,
            loading: Mutex::new(()),
            open_api: OpenApi::default(),
            stop,
        })
    }

    /// The resources that are served now.
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.borrow().clone()
    }

    /// Notifies when the set of served resources or one of their declarations changes.
    pub(crate) fn registry_changes(&self) -> watch::Receiver<Arc<Registry>> {
        self.registry.subscribe()
    }

    /// Publishes a write of this process to watches, unless the storage has done so (it notifies only the first API opened on it).
    pub(crate) async fn committed(&self, change: Arc<Change>) {
        let declares_resource = &*change.key.resource == crd::STORAGE_NAME;
        self.watch_cache.add(change);
        // A client that created a CRD uses it next.
        if declares_resource {
            self.reload_registry().await;
        }
    }

    /// Some or all changes after a revision, if all of them are in memory.
    pub(crate) fn recent_changes(&self, revision: Revision) -> Option<Changes> {
        let found = self.watch_cache.after(revision)?;
        let to = found.last().map_or(revision, |change| change.revision);
        Some(Changes { found, to })
    }

    /// Reads changes after a revision that are not in memory any more. Few callers may do so at a time: each holds a copy until it has read
    /// them all.
    ///
    /// # Errors
    /// If the database does not respond.
    pub(crate) async fn older_changes(&self, revision: Revision) -> Result<Changes> {
        // It is never closed.
        let _turn = self.reading_older.acquire().await.ok();
        let mut changes = self.storage.changes_after(revision).await?;
        self.watch_cache.share(&mut changes.found);
        Ok(changes)
    }

    /// Reads the CRDs; after an error the registry stays as it was.
    pub(crate) async fn reload_registry(&self) {
        if let Err(error) = self.load_registry().await {
            tracing::warn!(%error, "the CRDs cannot be read; the resources stay as they were");
        }
    }

    /// Reads the CRDs and replaces the registry.
    pub(crate) async fn load_registry(&self) -> Result<()> {
        let _loading = self.loading.lock().await;
        let page = self.storage.list(ListQuery::all(crd::STORAGE_NAME)).await?;
        let definitions = page.objects.iter().map(|stored| Ok(stored.object()?));
        let definitions: Vec<_> = definitions.collect::<Result<_>>()?;
        let registry = Arc::new(Registry::new(&definitions, &self.conversions));
        self.registry.send_replace(registry);
        self.open_api.clear();
        Ok(())
    }

    /// True when a namespace is being deleted; `None` when it does not exist.
    pub(crate) async fn namespace_is_terminating(&self, namespace: &str) -> Result<Option<bool>> {
        let key = Key {
            resource: "namespaces".into(),
            namespace: String::new(),
            name: namespace.to_owned(),
        };
        let stored = self.storage.get(&key).await?;
        stored
            .map(|stored| Ok(object::is_terminating(&stored.object()?)))
            .transpose()
    }

    /// A request of the server itself, for an object of a resource that is served in version `v1`; the
    /// collection if `name` is empty.
    pub(crate) fn internal_request(&self, group: &str, plural: &str, name: &str) -> Result<RequestInfo> {
        let registry = self.registry();
        let resource = registry.find(group, "v1", plural);
        let resource = resource.ok_or_else(ApiError::no_such_resource)?;
        Ok(RequestInfo::internal(resource.clone(), "", name))
    }
}
