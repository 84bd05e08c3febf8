//! An API on a database of its own, with a small CRD.

use std::sync::Arc;
use std::time::Duration;

use ::http::StatusCode;
use futures_util::{StreamExt as _, stream};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use muster_kube_api::{Kind, KubeApi, SqlStorage};
use muster_store::Store;
use muster_tests::database::postgres::Postgres;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{hiding, http, machines};

/// The API, and what has to live as long as it.
pub struct World {
    pub api: KubeApi,
    pub client: Client,
    pub database: Kind,
    store: Store,
    _folder: Option<TempDir>,
    _cluster: Option<Arc<Postgres>>,
}

/// The namespace of the tests' objects.
pub const NAMESPACE: &str = "shelf";

impl World {
    pub async fn new(database: Kind) -> Self {
        let (url, folder, cluster) = match database {
            Kind::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                (
                    format!("sqlite://{}/kube.db", folder.path().display()),
                    Some(folder),
                    None,
                )
            }
            Kind::Postgres => {
                let cluster = Postgres::shared();
                (cluster.create_database(), None, Some(cluster))
            }
        };
        let store = Store::open(&url).await.unwrap();
        let api = open(&store, database).await;
        let client = client(&api);
        let world = Self {
            api,
            client,
            database,
            store,
            _folder: folder,
            _cluster: cluster,
        };
        world
            .post("/api/v1/namespaces", json!({"metadata": {"name": NAMESPACE}}))
            .await;
        world
    }

    pub fn kind(&self) -> muster_sql::Kind {
        self.store.kind()
    }

    /// The connections to its database.
    pub fn pools(&self) -> (sqlx::AnyPool, sqlx::AnyPool) {
        self.store.pools()
    }

    /// Another replica on the same database.
    pub async fn another(&self) -> KubeApi {
        open(&self.store, self.database).await
    }

    /// Books of the test's namespace.
    pub fn books(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), NAMESPACE, &book())
    }

    /// Sends a request; returns status and body.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        media_type: &str,
        body: impl Into<Vec<u8>>,
    ) -> (StatusCode, Value) {
        send(&self.api, method, path, media_type, body.into()).await
    }

    pub async fn get(&self, path: &str) -> Value {
        let (status, body) = self.send("GET", path, "application/json", "").await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        body
    }

    pub async fn post(&self, path: &str, object: Value) -> Value {
        let (status, body) = self
            .send("POST", path, "application/json", object.to_string())
            .await;
        assert_eq!(status, StatusCode::CREATED, "{path}: {body}");
        body
    }

    /// Creates many objects, some of them at the same time.
    pub async fn post_all(&self, path: &str, objects: impl Iterator<Item = Value>) {
        stream::iter(objects)
            .for_each_concurrent(32, async |object| drop(self.post(path, object).await))
            .await;
    }

    pub async fn put(&self, path: &str, object: &Value) -> Value {
        let (status, body) = self
            .send("PUT", path, "application/json", object.to_string())
            .await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        body
    }

    pub async fn merge(&self, path: &str, patch: Value) -> Value {
        let (status, body) = self
            .send("PATCH", path, "application/merge-patch+json", patch.to_string())
            .await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        body
    }

    /// Sends a request that must fail; returns code, reason and message.
    pub async fn refused(&self, method: &str, path: &str, body: Value) -> (u16, String, String) {
        let (status, body) = self
            .send(method, path, "application/json", body.to_string())
            .await;
        let text = |member: &str| body[member].as_str().unwrap_or_default().to_owned();
        assert_eq!(body["kind"], "Status", "{body}");
        (status.as_u16(), text("reason"), text("message"))
    }

    /// Waits until the answer for `path` fits; panics with the last answer if it never does.
    pub async fn await_that(&self, path: &str, fits: impl Fn(StatusCode, &Value) -> bool) -> Value {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        loop {
            let (status, body) = self.send("GET", path, "application/json", "").await;
            if fits(status, &body) {
                return body;
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "{path} is still {status}: {body}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn open(store: &Store, database: Kind) -> KubeApi {
    let (readers, writers) = store.pools();
    let storage = SqlStorage::new(database, readers, writers);
    let crds = vec![crd(), machines::definition()];
    KubeApi::open_with(storage, crds, machines::conversions(), Some(hiding::hide))
        .await
        .unwrap()
}

pub async fn send(
    api: &KubeApi,
    method: &str,
    path: &str,
    media_type: &str,
    body: Vec<u8>,
) -> (StatusCode, Value) {
    let answer = http::send(&client(api), method, path, &[("content-type", media_type)], body).await;
    (answer.status, answer.body)
}

/// A client of an API in this process.
pub fn client(api: &KubeApi) -> Client {
    Client::new(api.service(), "default")
}

pub const BOOKS: &str = "/apis/library.example.com/v1/namespaces/shelf/books";

pub fn book() -> ApiResource {
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("library.example.com", "v1", "Book"),
        "books",
    )
}

/// A book as tests create it.
pub fn a_book(name: &str, pages: u32) -> Value {
    json!({
        "apiVersion": "library.example.com/v1",
        "kind": "Book",
        "metadata": {"name": name, "labels": {"size": if pages > 100 { "large" } else { "small" }}},
        "spec": {"title": format!("About {name}"), "pages": pages},
    })
}

pub fn crd() -> Value {
    serde_saphyr::from_str(include_str!("book.yaml")).unwrap()
}
