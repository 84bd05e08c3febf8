//! Opens the API in a database and returns it as an HTTP service.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use http::{Request, Response};
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::background::{self, garbage_collector};
use crate::endpoints::handle;
use crate::error::Result;
use crate::object;
use crate::request::{Caller, Hide};
use crate::resources::{Conversions, Strategy};
use crate::server::Server;
use crate::storage::{Revision, SqlStorage};

/// A Kubernetes API in a database. Clones are the same API; with the last clone its background tasks end.
#[derive(Clone)]
pub struct KubeApi {
    server: Arc<Server>,
    _running: Arc<DropGuard>,
}

impl KubeApi {
    /// Opens the API in a storage: creates or updates the given CustomResourceDefinition objects (v1, as
    /// JSON), creates the namespaces `default` and `kube-system`, and starts the background tasks on the
    /// current tokio runtime.
    ///
    /// # Errors
    /// If the database does not respond, or a CRD is invalid (the message names the rule).
    pub async fn open(storage: SqlStorage, crds: Vec<Value>) -> Result<Self> {
        Self::open_with(storage, crds, Conversions::default(), None).await
    }

    /// Like [`KubeApi::open`], for kinds with versions of different content. `viewers_hide` is called for every object, or part of one,
    /// that a caller without administrator rights reads: in lists, watches, tables and single reads.
    ///
    /// # Errors
    /// As [`KubeApi::open`].
    pub async fn open_with(
        storage: SqlStorage,
        crds: Vec<Value>,
        conversions: Conversions,
        viewers_hide: Option<Hide>,
    ) -> Result<Self> {
        let stop = CancellationToken::new();
        let server = Server::new(storage, conversions, viewers_hide, stop.clone()).await?;
        let server = Arc::new(server);
        server.load_registry().await?;
        for namespace in ["default", "kube-system"] {
            let object = json!({"metadata": {"name": namespace}});
            ensure(&server, "", "namespaces", object).await?;
        }
        for definition in crds {
            ensure(
                &server,
                "apiextensions.k8s.io",
                "customresourcedefinitions",
                definition,
            )
            .await?;
        }
        server.load_registry().await?;
        drop(tokio::spawn(background::follow_changes(server.clone())));
        drop(tokio::spawn(background::follow_definitions(server.clone())));
        drop(tokio::spawn(background::forget_changes(server.clone())));
        drop(tokio::spawn(background::compact_history(server.clone())));
        drop(tokio::spawn(background::expire_events(server.clone())));
        drop(tokio::spawn(garbage_collector::run(server.clone())));
        Ok(Self {
            server,
            _running: Arc::new(stop.drop_guard()),
        })
    }

    /// The API as an HTTP service for other programs. A [`Caller`](crate::Caller) in a request's extensions
    /// is the user; without one only discovery is served.
    pub fn router(&self) -> Router {
        let server = self.server.clone();
        Router::new().fallback(move |request: Request<Body>| handle(server.clone(), request))
    }

    /// The API as a tower service for `kube::Client::new`: requests stay in the process, and are an
    /// administrator's.
    pub fn service(&self) -> LocalService {
        LocalService {
            server: self.server.clone(),
        }
    }

    /// Deletes all versions that were replaced until now: watches and lists of older revisions return
    /// 410. A background task compacts versions older than five minutes.
    ///
    /// # Errors
    /// If the database does not respond.
    pub async fn compact(&self) -> Result<Revision> {
        let (revision, _) = self.server.storage.revisions().await?;
        self.server.storage.compact(revision).await?;
        self.server.watch_cache.forget(revision);
        Ok(revision)
    }

    /// Deletes Events that were not repeated in the hour before `now`, which a background task does every minute.
    ///
    /// # Errors
    /// If the database does not respond.
    pub async fn expire_events(&self, now: DateTime<Utc>) -> Result<usize> {
        self.server.expire_events(now - background::EVENT_TTL).await
    }

    /// Ends watches and background tasks.
    pub fn stop(&self) {
        self.server.stop.cancel();
    }
}

impl std::fmt::Debug for KubeApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KubeApi")
            .field("revision", &self.server.watch_cache.latest())
            .finish_non_exhaustive()
    }
}

/// The API as a tower service in the same process. It works as long as the [`KubeApi`] that returned it.
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

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let server = self.server.clone();
        request.extensions_mut().insert(Caller::administrator());
        Box::pin(async move { Ok(handle(server, request.map(Body::new)).await) })
    }
}

/// Creates a cluster-scoped object, or updates a CRD's spec, labels and annotations.
async fn ensure(server: &Server, group: &str, plural: &str, mut object: Value) -> Result<()> {
    let name = object::name(&object).to_owned();
    let request = server.internal_request(group, plural, &name)?;
    object::set_member(&mut object, "status", None);
    if server.existing(&request).await?.is_none() {
        return match server.create(&request, object).await {
            Err(error) if error.reason() == "AlreadyExists" => Ok(()),
            outcome => outcome.map(drop),
        };
    }
    if request.resource.strategy != Strategy::Definition {
        return Ok(());
    }
    let update = server.change(&request, |existing| {
        let mut desired = existing.clone();
        object::set_member(&mut desired, "spec", object.get("spec").cloned());
        for map in ["labels", "annotations"] {
            let entries = object::metadata(&object).and_then(|metadata| metadata.get(map)?.as_object());
            let metadata = object::metadata_value(&mut desired);
            if let Some(entries) = entries {
                object::member_mut(metadata, map).extend(entries.clone());
            }
        }
        Ok(desired)
    });
    update.await.map(drop)
}
