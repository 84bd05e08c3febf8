//! What a real server answers to wrong and late questions, this one answers too.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use http::Request;
use http_body_util::BodyExt as _;
use muster_kube_api::Database;
use muster_tests::process::output_within;
use serde_json::{Value, json};

use crate::peers::Peer;
use crate::world::a_book;

/// 119 questions, one after the other on each server: schema violations, oversize objects, conflicts,
/// malformed requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_questions_get_the_same_answers() {
    let (real, ours) = (Peer::real().await, Peer::built_in(Database::Sqlite).await);
    let mut compare = Command::new("python3");
    compare.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compare.py"));
    for peer in [&real, &ours] {
        peer.shelf("shelf").await;
        compare.args([&peer.url, &peer.token]).arg(&peer.authority);
    }
    compare.env("no_proxy", "*");
    let compared = tokio::task::block_in_place(|| output_within(&mut compare, b"", Duration::from_secs(300)));
    let said = String::from_utf8_lossy(&compared.stdout);
    println!("{said}");
    assert!(
        compared.status.success() && said.contains("with the same code and reason"),
        "{said}{}",
        String::from_utf8_lossy(&compared.stderr)
    );
}

/// The same questions about versions that are forgotten: code, reason, and how a watch is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgotten_versions_are_told_alike() {
    let real = about_the_past(&Peer::forgetful().await).await;
    for database in [Database::Sqlite, Database::Postgres] {
        assert_eq!(
            about_the_past(&Peer::built_in(database).await).await,
            real,
            "{database:?}"
        );
    }
    let expired = json!([410, "Expired"]);
    assert_eq!(
        [&real["continue"], &real["list exactly"], &real["list from"]],
        [&expired; 3]
    );
    assert_eq!(real["watch"], json!([200, "ERROR", 410, "Expired"]));
}

async fn about_the_past(peer: &Peer) -> Value {
    let books = peer.shelf("past").await;
    for name in ["a", "b", "c"] {
        peer.ask("POST", &books, &a_book(name, 1)).await;
    }
    let (_, page) = peer.ask("GET", &format!("{books}?limit=1"), &Value::Null).await;
    let metadata = &page["metadata"];
    let (token, revision) = (text(&metadata["continue"]), text(&metadata["resourceVersion"]));
    let refused = async |query: String| {
        let (status, body) = peer.ask("GET", &format!("{books}?{query}"), &Value::Null).await;
        json!([status.as_u16(), body["reason"]])
    };
    let before = [
        refused(format!("limit=1&continue={token}")).await,
        refused(format!("resourceVersion={revision}&resourceVersionMatch=Exact")).await,
    ];
    assert_eq!(before, [json!([200, null]), json!([200, null])], "{}", peer.name);

    let pages = std::sync::atomic::AtomicU32::new(2);
    peer.await_that("the past to be forgotten", async || {
        let next = pages.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        peer.ask("PATCH", &format!("{books}/a"), &json!({"spec": {"pages": next}}))
            .await;
        peer.forget().await;
        let (status, _) = peer
            .ask("GET", &format!("{books}?limit=1&continue={token}"), &Value::Null)
            .await;
        (status != 200).then_some(())
    })
    .await;
    json!({
        "continue": refused(format!("limit=1&continue={token}")).await,
        "list exactly": refused(format!("resourceVersion={revision}&resourceVersionMatch=Exact")).await,
        "list from": refused(format!("resourceVersion={revision}&limit=2")).await,
        "not older": refused(format!("resourceVersion={revision}&resourceVersionMatch=NotOlderThan")).await,
        "get": refused(String::new()).await,
        // Older than the first book: the real server does not remember it, however much it keeps in memory.
        "watch": first_of_watch(peer, &format!("{books}?watch=true&resourceVersion=1")).await,
    })
}

/// Status, type of the first event, and what it says when it is an error.
async fn first_of_watch(peer: &Peer, path: &str) -> Value {
    let request = Request::get(path).body(Vec::new().into()).unwrap();
    let answer = peer.client.send(request).await.unwrap();
    let status = answer.status().as_u16();
    let mut lines = Lines::of(answer.into_body());
    let event = lines.next().await.unwrap_or_default();
    json!([
        status,
        event["type"],
        event["object"]["code"],
        event["object"]["reason"]
    ])
}

/// A watcher that stops reading while 45 MB of changes pile up. A real server ends such a watch; whoever goes
/// on from the last version seen misses nothing. Here the watch waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_falls_behind_misses_nothing() {
    for peer in [Peer::real().await, Peer::built_in(Database::Sqlite).await] {
        let books = peer.shelf("behind").await;
        let (_, list) = peer.ask("GET", &books, &Value::Null).await;
        let start = text(&list["metadata"]["resourceVersion"]);
        let mut watch = Lines::open(&peer, &books, &start).await;
        const COUNT: usize = 150;
        let long = "x".repeat(300 << 10);
        for index in 0..COUNT {
            let mut book = a_book(&format!("book-{index:03}"), 1);
            book["spec"]["keywords"] = json!({ "k": &long });
            let (status, body) = peer.ask("POST", &books, &book).await;
            assert_eq!(status, 201, "{}: {}", peer.name, body["message"]);
        }
        let (mut names, mut last, mut watches) = (Vec::new(), start, 1);
        while names.len() < COUNT {
            let next = tokio::time::timeout(Duration::from_secs(60), watch.next());
            match next.await.expect("something in time") {
                Some(event) => {
                    assert_eq!(event["type"], "ADDED", "{}: {event}", peer.name);
                    names.push(text(&event["object"]["metadata"]["name"]));
                    last = text(&event["object"]["metadata"]["resourceVersion"]);
                }
                None => {
                    watches += 1;
                    assert!(watches <= COUNT, "{}: watches end and tell nothing", peer.name);
                    watch = Lines::open(&peer, &books, &last).await;
                }
            }
        }
        let expected: Vec<String> = (0..COUNT).map(|index| format!("book-{index:03}")).collect();
        assert_eq!(names, expected, "{}", peer.name);
        println!("{}: {watches} watches", peer.name);
    }
}

/// The events of a watch, read when asked for.
struct Lines {
    body: kube::client::Body,
    rest: Vec<u8>,
}

impl Lines {
    fn of(body: kube::client::Body) -> Self {
        Self {
            body,
            rest: Vec::new(),
        }
    }

    async fn open(peer: &Peer, books: &str, revision: &str) -> Self {
        let path = format!("{books}?watch=true&resourceVersion={revision}");
        let request = Request::get(path).body(Vec::new().into()).unwrap();
        let answer = peer.client.send(request).await.unwrap();
        assert_eq!(answer.status(), 200, "{}", peer.name);
        Self::of(answer.into_body())
    }

    /// The next event; nothing at the end, also when the connection breaks in the middle of a line.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.rest.extend_from_slice(&data);
            }
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
