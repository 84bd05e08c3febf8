//! What the server keeps, for how long, and which watches receive it.

on_both! {
    a_transaction_whose_caller_went_away_ends,
    a_write_whose_caller_went_away_is_seen_by_watches,
    events_go_an_hour_after_their_last_repetition,
    history_is_compacted_in_parts,
    lists_and_watches_of_many_objects_come_in_parts,
    new_finalizers_without_a_path_are_warned_of,
}

mod cases {
    use std::time::Duration;

    use chrono::Utc;
    use futures_util::FutureExt as _;
    use kube::api::{Api, ListParams};
    use serde_json::{Value, json};

    use crate::http::{self, Events};
    use crate::world::{BOOKS, NAMESPACE, World, a_book, client};

    async fn next(events: &mut Events) -> Value {
        let next = tokio::time::timeout(Duration::from_secs(60), events.next());
        next.await.expect("an event in time").expect("an event")
    }

    /// sqlx 0.9 returns the connection to the pool while PostgreSQL begins the transaction: the next user of it would be in the same one.
    pub async fn a_transaction_whose_caller_went_away_ends(world: World) {
        let (readers, writers) = world.pools();
        let kind = world.kind();
        for n in 0..20 {
            // It takes a round trip, so this drops it midway.
            drop(kind.begin_read(&readers).now_or_never());
            let mut writing = kind.begin_write(&writers).await.unwrap();
            sqlx::query("UPDATE kube_revision SET revision = revision WHERE id = 1")
                .execute(&mut *writing)
                .await
                .unwrap_or_else(|error| panic!("write {n}: {error}"));
            writing.commit().await.unwrap();
        }
    }

    pub async fn a_write_whose_caller_went_away_is_seen_by_watches(world: World) {
        let mut events = Events::open(&world.client, &format!("{BOOKS}?watch=true")).await;
        // The database has another writer, so that the commit takes long.
        let (_, writers) = world.pools();
        let mut other = writers.begin().await.unwrap();
        sqlx::query("UPDATE kube_revision SET revision = revision WHERE id = 1")
            .execute(&mut *other)
            .await
            .unwrap();
        let writing = world.post(BOOKS, a_book("a", 1));
        let impatient = tokio::time::timeout(Duration::from_secs(2), writing).await;
        assert!(impatient.is_err(), "the commit waits");
        other.rollback().await.unwrap();
        let event = next(&mut events).await;
        assert_eq!(
            (&event["type"], &event["object"]["metadata"]["name"]),
            (&json!("ADDED"), &json!("a"))
        );
    }

    pub async fn events_go_an_hour_after_their_last_repetition(world: World) {
        let events = format!("/api/v1/namespaces/{NAMESPACE}/events");
        let minutes_ago = |minutes: i64| (Utc::now() - chrono::Duration::minutes(minutes)).to_rfc3339();
        let event = |name: &str, first: i64, last: i64| {
            json!({"metadata": {"name": name}, "involvedObject": {"namespace": NAMESPACE, "name": "x", "kind": "Book"},
                "reason": "R", "message": "m", "type": "Normal",
                "firstTimestamp": minutes_ago(first), "lastTimestamp": minutes_ago(last)})
        };
        // Their creation time is the server's; so the test checks at a later time.
        for (name, first, last) in [("old", 90, 70), ("repeated", 300, -40)] {
            world.post(&events, event(name, first, last)).await;
        }
        assert_eq!(world.api.expire_events(Utc::now()).await.unwrap(), 0);
        let later = Utc::now() + chrono::Duration::minutes(61);
        assert_eq!(world.api.expire_events(later).await.unwrap(), 1);
        let names: Vec<Value> = world.get(&events).await["items"].as_array().unwrap().clone();
        let names: Vec<&Value> = names.iter().map(|event| &event["metadata"]["name"]).collect();
        assert_eq!(names, ["repeated"]);
    }

    pub async fn history_is_compacted_in_parts(world: World) {
        world.post(BOOKS, a_book("kept", 1)).await;
        let path = format!("{BOOKS}/a");
        world.post(BOOKS, a_book("a", 1)).await;
        let page = world.get(&format!("{BOOKS}?limit=1")).await;
        for pages in 2..620 {
            world.merge(&path, json!({"spec": {"pages": pages}})).await;
        }
        let (readers, _) = world.pools();
        let versions = async || -> i64 {
            let count = sqlx::query_scalar("SELECT COUNT(*) FROM kube_versions WHERE name = 'a'");
            count.fetch_one(&readers).await.unwrap()
        };
        assert!(versions().await > 600);
        world.api.compact().await.unwrap();
        assert_eq!(versions().await, 1);
        assert_eq!(world.get(&path).await["spec"]["pages"], 619);
        assert_eq!(world.get(BOOKS).await["items"].as_array().unwrap().len(), 2);
        let token = page["metadata"]["continue"].as_str().unwrap();
        let old = world
            .refused("GET", &format!("{BOOKS}?limit=1&continue={token}"), Value::Null)
            .await;
        assert_eq!((old.0, old.1.as_str()), (410, "Expired"));
    }

    pub async fn lists_and_watches_of_many_objects_come_in_parts(world: World) {
        const COUNT: usize = 620;
        let books = (0..COUNT).map(|index| a_book(&format!("book-{index:03}"), 1));
        world.post_all(BOOKS, books).await;
        let mut odd = a_book("odd", 1);
        odd["metadata"]["labels"] = json!({"odd": "yes"});
        world.post(BOOKS, odd).await;
        let whole = world.get(BOOKS).await;
        assert_eq!(
            (&whole["kind"], &whole["apiVersion"]),
            (&json!("BookList"), &json!("library.example.com/v1"))
        );
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
        let names: Vec<String> = whole["items"].as_array().unwrap().iter().map(name).collect();
        assert_eq!(
            (names.len(), names[0].as_str(), names[COUNT].as_str()),
            (COUNT + 1, "book-000", "odd")
        );
        assert_eq!(whole["items"][7], world.get(&format!("{BOOKS}/book-007")).await);
        // The list is of its version: later objects are not in it, and a watch continues from there.
        let revision = whole["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
        world.post(BOOKS, a_book("late", 1)).await;
        let exact = world
            .get(&format!(
                "{BOOKS}?resourceVersion={revision}&resourceVersionMatch=Exact"
            ))
            .await;
        assert_eq!(exact["items"], whole["items"]);
        let selected = world.get(&format!("{BOOKS}?labelSelector=odd")).await;
        assert_eq!(
            selected["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(name)
                .collect::<Vec<_>>(),
            ["odd"]
        );
        let metadata = http::send(
            &world.client,
            "GET",
            BOOKS,
            &[(
                "accept",
                "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            )],
            "",
        )
        .await
        .body;
        assert_eq!(metadata["kind"], "PartialObjectMetadataList");
        assert_eq!(metadata["items"].as_array().unwrap().len(), COUNT + 2);
        assert!(metadata["items"][0].get("spec").is_none());
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let table = http::send(&world.client, "GET", BOOKS, &[("accept", table)], "")
            .await
            .body;
        assert_eq!(table["rows"].as_array().unwrap().len(), COUNT + 2);
        // More than one read returns, and fewer than there are.
        let page = world.get(&format!("{BOOKS}?limit=600")).await;
        assert_eq!(page["items"].as_array().unwrap().len(), 600);
        assert_eq!(page["metadata"]["remainingItemCount"], COUNT + 2 - 600);
        let token = page["metadata"]["continue"].as_str().unwrap();
        let rest = world.get(&format!("{BOOKS}?limit=600&continue={token}")).await;
        assert_eq!(rest["items"].as_array().unwrap().len(), COUNT + 2 - 600);
        assert_eq!(rest["metadata"]["continue"], Value::Null);
        let books: Api<kube::api::DynamicObject> = world.books();
        assert_eq!(
            books.list(&ListParams::default()).await.unwrap().items.len(),
            COUNT + 2
        );

        let streaming =
            "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        let mut events = Events::open(&client(&world.api), &format!("{BOOKS}?{streaming}")).await;
        let first = next(&mut events).await;
        assert_eq!(name(&first["object"]), "book-000");
        // Another object, while the watch is still sending the initial ones.
        world.post(BOOKS, a_book("later", 1)).await;
        for _ in 0..=COUNT {
            assert_eq!(next(&mut events).await["type"], "ADDED");
        }
        let end = next(&mut events).await;
        assert_eq!(
            end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true",
            "{end}"
        );
        let last = next(&mut events).await;
        assert_eq!(
            (&last["type"], name(&last["object"]).as_str()),
            (&json!("ADDED"), "later")
        );
    }

    pub async fn new_finalizers_without_a_path_are_warned_of(world: World) {
        let mut book = a_book("a", 1);
        book["metadata"]["finalizers"] = json!(["example.com/held", "example.com"]);
        let answer = http::send(
            &world.client,
            "POST",
            BOOKS,
            &[("content-type", "application/json")],
            book.to_string(),
        )
        .await;
        let warnings: Vec<_> = answer.headers.get_all("warning").iter().collect();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0]
                .to_str()
                .unwrap()
                .contains("prefer a domain-qualified finalizer name")
        );
    }
}
