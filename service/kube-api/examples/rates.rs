//! Measures writes and lists: `cargo run --release -p muster-kube-api --example rates -- sqlite:///tmp/rates.db [OBJECTS]`
//!
//! Objects are as large as an Agent with its inventory (about 10 kB). Every object is created, gets a status and one patch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use http::Request;
use muster_kube_api::{Database, KubeApi, SqlStorage};
use muster_store::{Kind, Store};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const CRD: &str = include_str!("../tests/kube_api/book.yaml");
const BOOKS: &str = "/apis/library.example.com/v1/namespaces/default/books";
/// Requests at the same time.
const WRITERS: usize = 16;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().context("usage: rates DATABASE-URL [OBJECTS]")?;
    let count: usize = arguments.next().map_or(Ok(1_000), |text| text.parse())?;
    let store = Store::open(&url).await?;
    let database = match store.kind() {
        Kind::Sqlite => Database::Sqlite,
        Kind::Postgres => Database::Postgres,
    };
    let (readers, writers) = store.pools();
    let api = KubeApi::open(
        SqlStorage::new(database, readers, writers),
        vec![serde_saphyr::from_str(CRD)?],
    )
    .await?;
    let keywords = |salt: usize| -> Value {
        let words = (0..100).map(|index| {
            (
                format!("keyword-{index}"),
                json!(format!("{salt:08}-{}", "x".repeat(60))),
            )
        });
        Value::Object(words.collect())
    };
    let book = move |index: usize| json!({"apiVersion": "library.example.com/v1", "kind": "Book", "metadata": {"name": format!("book-{index:05}")}, "spec": {"title": "t", "keywords": keywords(index)}});
    let path = |index: usize| format!("{BOOKS}/book-{index:05}");
    let merge = "application/merge-patch+json";
    let took = all(&api, count, move |index| {
        ("POST", BOOKS.to_owned(), "application/json", book(index))
    })
    .await?;
    say("created", count, took);
    let status = json!({"status": {"readers": 1, "conditions": [{"type": "Ready", "status": "True"}]}});
    let took = all(&api, count, move |index| {
        ("PATCH", format!("{}/status", path(index)), merge, status.clone())
    })
    .await?;
    say("status patched", count, took);
    let took = all(&api, count, move |index| {
        ("PATCH", path(index), merge, json!({"spec": {"lent": true}}))
    })
    .await?;
    say("spec patched", count, took);
    let took = all(&api, count, move |index| {
        ("PATCH", path(index), merge, json!({"spec": {"lent": true}}))
    })
    .await?;
    say("patched without a change", count, took);
    for (name, accept) in [
        ("list", "application/json"),
        ("table", "application/json;as=Table;v=v1;g=meta.k8s.io"),
        (
            "metadata",
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        ),
    ] {
        let began = Instant::now();
        let request = Request::get(BOOKS)
            .header("accept", accept)
            .body(axum::body::Body::empty())?;
        let response = api.service().oneshot(request).await?;
        let size = axum::body::to_bytes(response.into_body(), usize::MAX)
            .await?
            .len();
        println!(
            "{name:<26} {:>8.1} ms for {count} objects, {} kB",
            began.elapsed().as_secs_f64() * 1e3,
            size >> 10
        );
    }
    Ok(())
}

type Asked = (&'static str, String, &'static str, Value);

async fn all(
    api: &KubeApi,
    count: usize,
    asked: impl Fn(usize) -> Asked + Send + Sync + 'static,
) -> anyhow::Result<Duration> {
    let asked = Arc::new(asked);
    let began = Instant::now();
    let writers = (0..WRITERS).map(|writer| {
        let (api, asked) = (api.clone(), asked.clone());
        tokio::spawn(async move {
            for index in (writer..count).step_by(WRITERS) {
                let (method, path, media_type, body) = asked(index);
                let request = Request::builder()
                    .method(method)
                    .uri(&path)
                    .header("content-type", media_type);
                let response = api
                    .service()
                    .oneshot(request.body(axum::body::Body::from(body.to_string()))?)
                    .await?;
                ensure!(
                    response.status().is_success(),
                    "{method} {path}: {}",
                    response.status()
                );
            }
            anyhow::Ok(())
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await??;
    }
    Ok(began.elapsed())
}

fn say(what: &str, count: usize, took: Duration) {
    println!("{what:<26} {:>8.0} a second", count as f64 / took.as_secs_f64());
}
