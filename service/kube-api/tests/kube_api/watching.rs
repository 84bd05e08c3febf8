//! Watches.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::Events;
use crate::peers::Peer;
use crate::world::crd;

on_both! {
    a_watcher_sees_what_is_there_and_what_changes,
    a_selected_watch_sees_objects_come_and_go,
    a_streaming_list_ends_with_a_bookmark,
    an_expired_version_is_reported_in_the_stream,
    a_watch_that_is_far_behind_reads_on_from_the_database,
    a_watch_ends_after_its_time,
    changes_of_another_replica_are_seen,
    a_database_that_lost_writes_has_clients_list_again,
}

on_each_server! {
    a_watch_ends_when_its_kind_is_declared_otherwise,
}

/// A watch has columns, selectable fields and conversion of its kind as it was when the watch began.
async fn a_watch_ends_when_its_kind_is_declared_otherwise(peer: Peer) {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const PLAYS: &str = "/apis/library.example.com/v1/namespaces/stage/plays";
    let definition = format!("{DEFINITIONS}/plays.library.example.com");
    let mut play = crd();
    play["metadata"]["name"] = json!("plays.library.example.com");
    play["spec"]["names"] = json!({"kind": "Play", "plural": "plays"});
    peer.shelf("stage").await;
    assert_eq!(peer.ask("POST", DEFINITIONS, &play).await.0, 201);
    peer.await_that("plays are served", async || {
        (peer.ask("GET", PLAYS, &Value::Null).await.0 == 200).then_some(())
    })
    .await;
    let a_play = |name: &str| json!({"apiVersion": "library.example.com/v1", "kind": "Play", "metadata": {"name": name}, "spec": {"title": name}});
    let next = async |events: &mut Events| {
        let next = tokio::time::timeout(Duration::from_secs(60), events.next());
        let event = next.await.expect("an event in time")?;
        Some(format!(
            "{} {}",
            event["type"].as_str()?,
            event["object"]["metadata"]["name"].as_str()?
        ))
    };
    let mut events = Events::open(&peer.client, &format!("{PLAYS}?watch=true")).await;
    let mut others = Events::open(
        &peer.client,
        "/api/v1/namespaces/stage/configmaps?watch=true&fieldSelector=metadata.name%3Dx",
    )
    .await;
    for name in ["a", "b"] {
        // Changes outside of its spec end no watch.
        let labels = json!({"metadata": {"labels": {"seen": name}}});
        assert_eq!(peer.ask("PATCH", &definition, &labels).await.0, 200);
        assert_eq!(peer.ask("POST", PLAYS, &a_play(name)).await.0, 201);
        assert_eq!(next(&mut events).await, Some(format!("ADDED {name}")));
    }
    let columns = &mut play["spec"]["versions"][0]["additionalPrinterColumns"];
    *columns = json!([{"name": "Genre", "type": "string", "jsonPath": ".spec.genre"}]);
    let changed = json!({"spec": {"versions": play["spec"]["versions"]}});
    assert_eq!(peer.ask("PATCH", &definition, &changed).await.0, 200);
    assert_eq!(next(&mut events).await, None);
    // A watch that is open when the kind is deleted first receives the deletion of its objects.
    let from = peer
        .await_that("plays are served again", async || {
            let (status, list) = peer.ask("GET", PLAYS, &Value::Null).await;
            let version = list["metadata"]["resourceVersion"].as_str()?;
            (status == 200).then(|| version.to_owned())
        })
        .await;
    let mut events = Events::open(
        &peer.client,
        &format!("{PLAYS}?watch=true&resourceVersion={from}"),
    )
    .await;
    assert_eq!(peer.ask("DELETE", &definition, &Value::Null).await.0, 200);
    let mut gone = [next(&mut events).await, next(&mut events).await];
    gone.sort();
    assert_eq!(gone, ["a", "b"].map(|name| Some(format!("DELETED {name}"))));
    assert_eq!(next(&mut events).await, None);
    // Watches of other kinds continued all the time.
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
    assert_eq!(
        peer.ask("POST", "/api/v1/namespaces/stage/configmaps", &map)
            .await
            .0,
        201
    );
    assert_eq!(next(&mut others).await, Some("ADDED x".into()));
}

mod cases {
    use std::time::Duration;

    use futures_util::TryStreamExt as _;
    use kube::runtime::{WatchStreamExt as _, reflector, watcher};
    use muster_kube_api::KubeApi;
    use serde_json::{Value, json};

    use crate::http::Events;
    use crate::world::{BOOKS, World, a_book, book, client};

    async fn watch(api: &KubeApi, path: &str) -> Events {
        let events = Events::open(&client(api), path).await;
        assert_eq!(events.status, 200);
        events
    }

    /// The next event: its type and the object's name.
    async fn next(events: &mut Events) -> (String, String) {
        let found = tokio::time::timeout(Duration::from_secs(60), events.next())
            .await
            .expect("an event in time")
            .expect("an event");
        let name = found["object"]["metadata"]["name"].as_str().unwrap_or_default();
        (found["type"].as_str().unwrap().to_owned(), name.to_owned())
    }

    fn event(kind: &str, name: &str) -> (String, String) {
        (kind.to_owned(), name.to_owned())
    }

    pub async fn a_watcher_sees_what_is_there_and_what_changes(world: World) {
        world.post(BOOKS, a_book("a", 1)).await;
        for config in [
            watcher::Config::default(),
            watcher::Config::default().streaming_lists(),
        ] {
            let writer = reflector::store::Writer::new(book());
            let store = writer.as_reader();
            let books: kube::Api<kube::api::DynamicObject> = world.books();
            let mut seen = Box::pin(reflector(writer, watcher(books, config)).applied_objects());
            let one = tokio::time::timeout(Duration::from_secs(60), seen.try_next())
                .await
                .unwrap()
                .unwrap()
                .unwrap();
            assert_eq!(one.metadata.name.as_deref(), Some("a"));
            world.post(BOOKS, a_book("b", 2)).await;
            let two = tokio::time::timeout(Duration::from_secs(60), seen.try_next())
                .await
                .unwrap()
                .unwrap()
                .unwrap();
            assert_eq!(two.metadata.name.as_deref(), Some("b"));
            assert_eq!(store.state().len(), 2);
            world
                .send("DELETE", &format!("{BOOKS}/b"), "application/json", "")
                .await;
            world.merge(&format!("{BOOKS}/a"), json!({"metadata": {"labels": {"x": world.get(BOOKS).await["metadata"]["resourceVersion"]}}})).await;
            let three = tokio::time::timeout(Duration::from_secs(60), seen.try_next())
                .await
                .unwrap()
                .unwrap()
                .unwrap();
            assert_eq!(
                (three.metadata.name.as_deref(), store.state().len()),
                (Some("a"), 1)
            );
        }
    }

    pub async fn a_selected_watch_sees_objects_come_and_go(world: World) {
        world.post(BOOKS, a_book("a", 1)).await;
        let mut events = watch(
            &world.api,
            &format!("{BOOKS}?watch=true&labelSelector=size%3Dlarge"),
        )
        .await;
        let relabel = |size: &'static str| json!({"metadata": {"labels": {"size": size}}});
        world.merge(&format!("{BOOKS}/a"), relabel("large")).await;
        assert_eq!(next(&mut events).await, event("ADDED", "a"));
        world
            .merge(&format!("{BOOKS}/a"), json!({"spec": {"pages": 7}}))
            .await;
        assert_eq!(next(&mut events).await, event("MODIFIED", "a"));
        world.merge(&format!("{BOOKS}/a"), relabel("small")).await;
        assert_eq!(next(&mut events).await, event("DELETED", "a"));
        world
            .merge(&format!("{BOOKS}/a"), json!({"spec": {"pages": 8}}))
            .await;
        world.post(BOOKS, a_book("b", 200)).await;
        assert_eq!(next(&mut events).await, event("ADDED", "b"));
        world
            .send("DELETE", &format!("{BOOKS}/b"), "application/json", "")
            .await;
        assert_eq!(next(&mut events).await, event("DELETED", "b"));
    }

    pub async fn a_streaming_list_ends_with_a_bookmark(world: World) {
        for name in ["a", "b"] {
            world.post(BOOKS, a_book(name, 1)).await;
        }
        let query =
            "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        let mut events = watch(&world.api, &format!("{BOOKS}?{query}")).await;
        assert_eq!(
            (next(&mut events).await, next(&mut events).await),
            (event("ADDED", "a"), event("ADDED", "b"))
        );
        let bookmark = events.next().await.unwrap();
        assert_eq!(bookmark["type"], "BOOKMARK");
        assert_eq!(
            bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
            "true"
        );
        world.post(BOOKS, a_book("c", 1)).await;
        assert_eq!(next(&mut events).await, event("ADDED", "c"));
        let (code, reason, _) = world
            .refused(
                "GET",
                &format!("{BOOKS}?watch=true&sendInitialEvents=true"),
                Value::Null,
            )
            .await;
        assert_eq!((code, reason.as_str()), (422, "Invalid"));
    }

    pub async fn an_expired_version_is_reported_in_the_stream(world: World) {
        let old = world.post(BOOKS, a_book("a", 1)).await["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .to_owned();
        world
            .merge(&format!("{BOOKS}/a"), json!({"spec": {"pages": 7}}))
            .await;
        world
            .merge(&format!("{BOOKS}/a"), json!({"spec": {"pages": 8}}))
            .await;
        let compacted = world.api.compact().await.unwrap();
        // This replica has none of these revisions in memory.
        let fresh = world.another().await;
        let mut events = watch(&fresh, &format!("{BOOKS}?watch=true&resourceVersion={old}")).await;
        let found = events.next().await.unwrap();
        assert_eq!(
            (
                &found["type"],
                &found["object"]["code"],
                &found["object"]["reason"]
            ),
            (&json!("ERROR"), &json!(410), &json!("Expired"))
        );
        assert!(events.next().await.is_none());
        let mut events = watch(&fresh, &format!("{BOOKS}?watch=true&resourceVersion={compacted}")).await;
        let (status, body) = crate::world::send(
            &fresh,
            "POST",
            BOOKS,
            "application/json",
            a_book("b", 1).to_string().into_bytes(),
        )
        .await;
        assert_eq!(status, 201, "{body}");
        assert_eq!(next(&mut events).await, event("ADDED", "b"));
    }

    pub async fn a_watch_that_is_far_behind_reads_on_from_the_database(world: World) {
        let start = world.post(BOOKS, a_book("a", 1)).await["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .to_owned();
        for pages in 2..6 {
            world
                .merge(&format!("{BOOKS}/a"), json!({"spec": {"pages": pages}}))
                .await;
        }
        let fresh = world.another().await;
        let mut events = watch(&fresh, &format!("{BOOKS}?watch=true&resourceVersion={start}")).await;
        for pages in 2..6 {
            let found = tokio::time::timeout(Duration::from_secs(60), events.next())
                .await
                .unwrap()
                .unwrap();
            assert_eq!(
                (&found["type"], &found["object"]["spec"]["pages"]),
                (&json!("MODIFIED"), &json!(pages))
            );
        }
    }

    pub async fn a_watch_ends_after_its_time(world: World) {
        let mut events = watch(&world.api, &format!("{BOOKS}?watch=true&timeoutSeconds=1")).await;
        let end = tokio::time::timeout(Duration::from_secs(60), events.next())
            .await
            .expect("the watch ends");
        assert!(end.is_none());
        let mut events = watch(&world.api, &format!("{BOOKS}?watch=true")).await;
        world.api.stop();
        let end = tokio::time::timeout(Duration::from_secs(60), events.next())
            .await
            .expect("the watch ends");
        assert!(end.is_none());
    }

    pub async fn a_database_that_lost_writes_has_clients_list_again(world: World) {
        world.post(BOOKS, a_book("a", 1)).await;
        let (_, writers) = world.pools();
        let kept: i64 = sqlx::query_scalar("SELECT revision FROM kube_revision")
            .fetch_one(&writers)
            .await
            .unwrap();
        let mut events = watch(&world.api, &format!("{BOOKS}?watch=true")).await;
        assert_eq!(next(&mut events).await, event("ADDED", "a"));
        for name in ["b", "c", "d"] {
            world.post(BOOKS, a_book(name, 1)).await;
            assert_eq!(next(&mut events).await, event("ADDED", name));
        }
        // A replica without the last writes took over.
        for statement in [
            "DELETE FROM kube_objects WHERE revision > $1",
            "DELETE FROM kube_versions WHERE revision > $1",
            "UPDATE kube_revision SET revision = $1",
        ] {
            let lost = sqlx::query(statement).bind(kept);
            lost.execute(&writers).await.unwrap();
        }
        if world.database == muster_kube_api::Kind::Sqlite {
            // No other process writes to it, so nothing is polled: the next write reveals it.
            world.post(BOOKS, a_book("e", 1)).await;
        }
        let told = tokio::time::timeout(Duration::from_secs(60), events.next())
            .await
            .expect("an event in time")
            .expect("an event");
        assert_eq!(
            (&told["type"], &told["object"]["code"], &told["object"]["reason"]),
            (&json!("ERROR"), &json!(410), &json!("Expired"))
        );
        assert_eq!(events.next().await, None);
        // A client that resumes after a lost connection gets the error, too.
        let later = kept + 1_000;
        let mut resumed = watch(&world.api, &format!("{BOOKS}?watch=true&resourceVersion={later}")).await;
        let told = resumed.next().await.expect("an event");
        assert_eq!(
            (&told["type"], &told["object"]["code"]),
            (&json!("ERROR"), &json!(410))
        );
        let mut events = watch(&world.api, &format!("{BOOKS}?watch=true")).await;
        assert_eq!(next(&mut events).await, event("ADDED", "a"));
        world
            .send("DELETE", &format!("{BOOKS}/e"), "application/json", "")
            .await;
        if world.database == muster_kube_api::Kind::Sqlite {
            assert_eq!(next(&mut events).await, event("ADDED", "e"));
            assert_eq!(next(&mut events).await, event("DELETED", "e"));
        }
        // Less than was written before, and seen all the same.
        world.post(BOOKS, a_book("f", 1)).await;
        assert_eq!(next(&mut events).await, event("ADDED", "f"));
        // So are dependents: their owner is gone.
        let owner =
            json!([{"apiVersion": "library.example.com/v1", "kind": "Book", "name": "b", "uid": "lost"}]);
        let mut owned = a_book("g", 1);
        owned["metadata"]["ownerReferences"] = owner;
        world.post(BOOKS, owned).await;
        world
            .await_that(&format!("{BOOKS}/g"), |status, _| status == 404)
            .await;
    }

    pub async fn changes_of_another_replica_are_seen(world: World) {
        if world.database == muster_kube_api::Kind::Sqlite {
            // One process only: there are no other replicas.
            return;
        }
        let other = world.another().await;
        let mut events = watch(&world.api, &format!("{BOOKS}?watch=true")).await;
        let (status, body) = crate::world::send(
            &other,
            "POST",
            BOOKS,
            "application/json",
            a_book("a", 1).to_string().into_bytes(),
        )
        .await;
        assert_eq!(status, 201, "{body}");
        assert_eq!(next(&mut events).await, event("ADDED", "a"));
        world
            .merge(&format!("{BOOKS}/a"), json!({"spec": {"pages": 3}}))
            .await;
        assert_eq!(next(&mut events).await, event("MODIFIED", "a"));
    }
}
