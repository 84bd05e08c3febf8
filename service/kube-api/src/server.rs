//! The server: storage, log of changes, registry of resources, and what runs in the background.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::builtin::Nature;
use crate::collect;
use crate::crd;
use crate::error::{ApiError, Result};
use crate::log::{Change, ChangeLog};
use crate::object;
use crate::openapi::OpenApi;
use crate::registry::Registry;
use crate::request::{Caller, Options};
use crate::serve;
use crate::storage::{Key, ListQuery, Revision, Storage};
use crate::write::Ask;

/// How long replaced versions are kept: so far back a watch or a paged list can reach. Source: `--etcd-compaction-interval`.
const HISTORY: Duration = Duration::from_secs(300);
/// How often it is looked whether others wrote to a shared database.
const FOLLOW: Duration = Duration::from_millis(500);
/// How long a missing change is waited for before it is read.
const GAP_PATIENCE: Duration = Duration::from_millis(20);
/// Changes that are read at once.
const CHUNK: usize = 1_000;

/// What all requests share.
pub struct Server {
    pub(crate) storage: Box<dyn Storage>,
    pub(crate) log: ChangeLog,
    registry: RwLock<Arc<Registry>>,
    /// Held while the registry is read anew, so that an older state never replaces a newer one.
    loading: tokio::sync::Mutex<()>,
    pub(crate) open_api: OpenApi,
    /// Watches end when it is told to stop.
    pub(crate) stop: CancellationToken,
}

/// A Kubernetes API in a database. Cloning is cheap; clones are the same API. With the last clone its background work ends.
#[derive(Clone)]
pub struct KubeApi {
    server: Arc<Server>,
    _running: Arc<DropGuard>,
}

impl KubeApi {
    /// Opens the API in a storage, brings the given CustomResourceDefinition objects (v1, as JSON) up to date in it, makes sure
    /// that the namespaces `default` and `kube-system` are there, and starts its background work on the present tokio runtime.
    ///
    /// # Errors
    /// If the database does not answer, or a CRD breaks a rule (the message says which one).
    pub async fn open(storage: impl Storage, crds: Vec<Value>) -> Result<Self> {
        let (revision, _) = storage.revisions().await?;
        let stop = CancellationToken::new();
        let server = Arc::new(Server {
            storage: Box::new(storage),
            log: ChangeLog::starting_after(revision),
            registry: RwLock::new(Arc::new(Registry::new(&[]))),
            loading: tokio::sync::Mutex::new(()),
            open_api: OpenApi::default(),
            stop: stop.clone(),
        });
        server.load_registry().await?;
        for namespace in ["default", "kube-system"] {
            let object = serde_json::json!({"metadata": {"name": namespace}});
            server.ensure("", "namespaces", object).await?;
        }
        for definition in crds {
            server
                .ensure("apiextensions.k8s.io", "customresourcedefinitions", definition)
                .await?;
        }
        server.load_registry().await?;
        for task in [
            tokio::spawn(follow(server.clone())),
            tokio::spawn(compact(server.clone())),
        ] {
            drop(task);
        }
        drop(tokio::spawn(collect::run(server.clone())));
        Ok(Self {
            server,
            _running: Arc::new(stop.drop_guard()),
        })
    }

    /// The API as HTTP service for other programs. A [`Caller`] in a request's extensions says who asks.
    pub fn router(&self) -> Router {
        serve::router(self.server.clone())
    }

    /// The API as a tower service, which `kube::Client::new` takes: requests stay in the process.
    pub fn service(&self) -> LocalService {
        LocalService {
            server: self.server.clone(),
        }
    }

    /// Forgets all versions that were replaced until now: watches and lists of older revisions are answered 410. It also happens by
    /// itself to what is older than five minutes.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn compact(&self) -> Result<Revision> {
        let (revision, _) = self.server.storage.revisions().await?;
        self.server.storage.compact(revision).await?;
        self.server.log.forget(revision);
        Ok(revision)
    }

    /// Ends watches and background work.
    pub fn stop(&self) {
        self.server.stop.cancel();
    }
}

/// The API as a tower service in the same process. It works as long as the [`KubeApi`] that it is of.
#[derive(Clone)]
pub struct LocalService {
    server: Arc<Server>,
}

impl<B> tower::Service<Request<B>> for LocalService
where
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, std::result::Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::result::Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.server.clone();
        Box::pin(async move { Ok(serve::handle(server, request.map(Body::new)).await) })
    }
}

impl std::fmt::Debug for KubeApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KubeApi")
            .field("revision", &self.server.log.latest())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// What is served now.
    pub fn registry(&self) -> Arc<Registry> {
        self.registry
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Takes in a write of this process.
    pub(crate) async fn committed(&self, change: Arc<Change>) {
        let declares = &*change.key.resource == crd::STORAGE_NAME;
        self.log.offer(change);
        // Whoever created a CRD uses it next.
        if declares && let Err(error) = self.load_registry().await {
            tracing::warn!(%error, "the CRDs cannot be read; the resources stay as they were");
        }
    }

    /// Reads the CRDs anew.
    pub(crate) async fn load_registry(&self) -> Result<()> {
        let _loading = self.loading.lock().await;
        let query = ListQuery {
            resource: crd::STORAGE_NAME.into(),
            namespace: None,
            name: None,
            after: None,
            limit: None,
            at: None,
            counts: false,
        };
        let page = self.storage.list(query).await?;
        let definitions = page.objects.iter().map(|stored| Ok(stored.object()?));
        let definitions = definitions.collect::<Result<Vec<Value>>>()?;
        let registry = Arc::new(Registry::new(&definitions));
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = registry;
        self.open_api.forget();
        Ok(())
    }

    /// Whether a namespace is about to go; nothing if there is none.
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

    /// A request of the server itself.
    pub(crate) fn own_ask(
        &self,
        group: &str,
        version: &str,
        plural: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Ask> {
        let registry = self.registry();
        let resource = registry
            .find(group, version, plural)
            .ok_or_else(ApiError::no_such_resource)?;
        Ok(Ask {
            resource: resource.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: String::new(),
            options: Options::default(),
            caller: Caller::administrator(),
            manager: "kube-api".into(),
            is_patch: false,
        })
    }

    /// Creates an object of the whole cluster, or brings its spec up to date.
    async fn ensure(&self, group: &str, plural: &str, mut object: Value) -> Result<()> {
        let name = object::name(&object).to_owned();
        let ask = self.own_ask(group, "v1", plural, "", &name)?;
        object::set_member(&mut object, "status", None);
        if self.present(&ask).await?.is_none() {
            match self.create(&ask, object).await {
                Err(error) if error.reason() == "AlreadyExists" => return Ok(()),
                outcome => return outcome.map(drop),
            }
        }
        if ask.resource.nature != Nature::Definition {
            return Ok(());
        }
        let spec = object.get("spec").cloned().unwrap_or_default();
        let update = self.change(&ask, |present| {
            let mut wanted = present.clone();
            object::set_member(&mut wanted, "spec", Some(spec.clone()));
            for map in ["labels", "annotations"] {
                for (key, value) in object::metadata(&object)
                    .and_then(|metadata| metadata.get(map)?.as_object())
                    .into_iter()
                    .flatten()
                {
                    object::member_mut(object::metadata_value(&mut wanted), map)
                        .insert(key.clone(), value.clone());
                }
            }
            Ok(wanted)
        });
        update.await.map(drop)
    }
}

/// Brings changes into the log that this process did not make, or whose order it does not know.
async fn follow(server: Arc<Server>) {
    let is_shared = server.storage.is_shared();
    loop {
        tokio::select! {
            () = server.stop.cancelled() => return,
            () = server.log.gap() => {
                // Mostly a write of this process whose task is about to tell.
                tokio::time::sleep(GAP_PATIENCE).await;
                if !server.log.has_gap() {
                    continue;
                }
            }
            () = tokio::time::sleep(FOLLOW), if is_shared => {}
        }
        loop {
            let latest = server.log.latest();
            let changes = match server.storage.changes_after(latest, CHUNK).await {
                Ok(changes) => changes,
                Err(error) => {
                    tracing::warn!(%error, "changes of others cannot be read; trying again");
                    tokio::select! {
                        () = server.stop.cancelled() => return,
                        () = tokio::time::sleep(FOLLOW) => continue,
                    }
                }
            };
            let declares = changes
                .iter()
                .any(|change| &*change.key.resource == crd::STORAGE_NAME);
            let is_all = changes.len() < CHUNK;
            server.log.offer_read(changes);
            if declares && let Err(error) = server.load_registry().await {
                tracing::warn!(%error, "the CRDs cannot be read; the resources stay as they were");
            }
            if is_all {
                break;
            }
        }
    }
}

/// Forgets what is older than [`HISTORY`].
async fn compact(server: Arc<Server>) {
    loop {
        let revision = server.log.latest();
        tokio::select! {
            () = server.stop.cancelled() => return,
            () = tokio::time::sleep(HISTORY) => {}
        }
        if let Err(error) = server.storage.compact(revision).await {
            tracing::warn!(%error, "old versions cannot be forgotten; trying again later");
        }
    }
}
