//! Compares answers to wrong and late requests with those of a real server.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use muster_kube_api::Kind;
use muster_tests::process::output_within;
use serde_json::{Value, json};

use crate::http::Events;
use crate::peers::Peer;
use crate::world::a_book;

/// 138 requests, one after the other to each server: schema violations, oversize objects, conflicts,
/// malformed requests, numbers and nulls in every form. Code and reason are the same, and what a write stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_requests_get_the_same_answers() {
    let (real, ours) = (Peer::real().await, Peer::built_in(Kind::Sqlite).await);
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

/// The recorded verdict of an API server's own code on each rule is that of a running server, whatever its libraries were built with.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_get_the_verdict_that_is_recorded() {
    let read = |name: &str| -> Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("facts/cel").join(name);
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let (table, verdicts) = (read("rules.json"), read("verdicts.json"));
    let rows = table["rules"]
        .as_array()
        .unwrap()
        .iter()
        .zip(verdicts.as_array().unwrap());
    let real = Peer::real().await;
    let mut differ = Vec::new();
    for (row, verdict) in rows {
        let mut spec = table["spec"].clone();
        spec["x-kubernetes-validations"] = json!([row["rule"]]);
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.rules.example.com"}, "spec": {"group": "rules.example.com", "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
        let (status, body) = real.ask("POST", definitions, &definition).await;
        let is_recorded = verdict["errors"].as_array().unwrap().is_empty();
        if status.is_success() != is_recorded {
            differ.push(format!("{}: {status} {}", row["rule"], body["message"]));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// Requests for compacted revisions: code, reason, and the event of a watch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compacted_revisions_are_answered_alike() {
    let real = about_the_past(&Peer::forgetful().await).await;
    for database in [Kind::Sqlite, Kind::Postgres] {
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
        // Older than the first book: the real server has no such revision any more, however much it keeps in memory.
        "watch": first_of_watch(peer, &format!("{books}?watch=true&resourceVersion=1")).await,
    })
}

/// Status, type of the first event, and its code and reason when it is an error.
async fn first_of_watch(peer: &Peer, path: &str) -> Value {
    let mut events = Events::open(&peer.client, path).await;
    let event = events.next().await.unwrap_or_default();
    json!([
        events.status.as_u16(),
        event["type"],
        event["object"]["code"],
        event["object"]["reason"]
    ])
}

/// A watcher that stops reading while 45 MB of changes pile up. A real server ends such a watch; a client that resumes from the last
/// version seen misses nothing. Here the watch waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_watcher_misses_nothing() {
    for peer in [Peer::real().await, Peer::built_in(Kind::Sqlite).await] {
        let books = peer.shelf("behind").await;
        let (_, list) = peer.ask("GET", &books, &Value::Null).await;
        let start = text(&list["metadata"]["resourceVersion"]);
        let mut events = watch(&peer, &books, &start).await;
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
            let next = tokio::time::timeout(Duration::from_secs(60), events.next());
            match next.await.expect("something in time") {
                Some(event) => {
                    assert_eq!(event["type"], "ADDED", "{}: {event}", peer.name);
                    names.push(text(&event["object"]["metadata"]["name"]));
                    last = text(&event["object"]["metadata"]["resourceVersion"]);
                }
                None => {
                    watches += 1;
                    assert!(watches <= COUNT, "{}: watches end without an event", peer.name);
                    events = watch(&peer, &books, &last).await;
                }
            }
        }
        let expected: Vec<String> = (0..COUNT).map(|index| format!("book-{index:03}")).collect();
        assert_eq!(names, expected, "{}", peer.name);
        println!("{}: {watches} watches", peer.name);
    }
}

async fn watch(peer: &Peer, books: &str, revision: &str) -> Events {
    let path = format!("{books}?watch=true&resourceVersion={revision}");
    let events = Events::open(&peer.client, &path).await;
    assert_eq!(events.status, 200, "{}", peer.name);
    events
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
