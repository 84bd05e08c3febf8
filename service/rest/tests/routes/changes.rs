//! The stream of changes: what it sends, to whom, and where it continues.

use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt as _;
use http::Response;
use muster_api::ids::InfraEnvId;
use muster_operations::now;
use serde_json::{Value, json};

use crate::tokens::scopes::operator;
use crate::world::{Credential, World};

const PATH: &str = "/api/muster/v1/changes";

/// A stream as a browser reads it.
struct Stream {
    body: axum::body::BodyDataStream,
    text: String,
}

/// One event.
#[derive(Debug, PartialEq)]
struct Event {
    name: String,
    id: Option<String>,
    record: Option<Value>,
}

impl Stream {
    async fn open(world: &World, credential: &Credential, path: &str) -> Self {
        Self::of(world.stream(credential, path).await)
    }

    #[track_caller]
    fn of(response: Response<Body>) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert!(!response.headers().contains_key("content-encoding"));
        Self {
            body: response.into_body().into_data_stream(),
            text: String::new(),
        }
    }

    /// The next event; `None`: the stream has ended.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let event = parse(event);
                self.text = rest.to_owned();
                return Some(event);
            }
            let bytes = self.body.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// The records of the next events, up to the first that has an id.
    async fn records(&mut self) -> (Vec<Value>, String) {
        let mut records = Vec::new();
        loop {
            let event = self.next().await.expect("the stream goes on");
            assert_eq!(event.name, "", "{event:?}");
            records.extend(event.record);
            if let Some(id) = event.id {
                return (records, id);
            }
        }
    }
}

fn parse(text: &str) -> Event {
    let field = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(field, _)| *field == name);
        found.map(|(_, value)| value.trim_start().to_owned())
    };
    let data = field("data").filter(|data| !data.is_empty());
    assert!(
        data.is_some(),
        "a browser passes over an event without data: {text}"
    );
    Event {
        name: field("event").unwrap_or_default(),
        id: field("id"),
        record: data.map(|data| serde_json::from_str(&data).unwrap()),
    }
}

fn of_infra_env(id: InfraEnvId) -> Value {
    json!({"kind": "infra-env", "id": id, "infra_env_id": id})
}

#[tokio::test]
async fn a_client_receives_each_changed_record_and_continues_where_it_was() {
    let world = World::open().await;
    let mut stream = Stream::open(&world, &world.operator, PATH).await;
    let begun = stream.next().await.unwrap();
    assert_eq!((begun.name.as_str(), begun.record), ("alive", Some(json!({}))));
    let first = world.infra_env(json!({})).await;
    let (records, id) = stream.records().await;
    assert_eq!(records, [of_infra_env(first)]);
    drop(stream);

    let host = world.host(first, 1).await;
    let mut again = Stream::open(&world, &world.operator, &format!("{PATH}?after={id}")).await;
    assert_eq!(again.next().await.unwrap().name, "alive");
    let (records, _) = again.records().await;
    let expected = host.rsplit('/').next().unwrap();
    let hosts: Vec<_> = records.iter().filter(|record| record["kind"] == "host").collect();
    assert_eq!(
        hosts,
        [&json!({"kind": "host", "id": expected, "infra_env_id": first})]
    );
}

#[tokio::test]
async fn a_bmc_that_is_added_changed_or_deleted_is_a_change() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    let mut stream = Stream::open(&world, &world.operator, PATH).await;
    assert_eq!(stream.next().await.unwrap().name, "alive");
    let bmcs = format!("/api/muster/v1/infra-envs/{infra_env}/bmcs");
    let body = json!({"address": "bmc.example.test", "user_name": "u", "password": "p", "discover": false});
    let made = world.post(&world.operator, &bmcs, &body).await.expect(201).json();
    let expected = json!({"kind": "bmc", "id": made["id"]});
    assert_eq!(stream.records().await.0, std::slice::from_ref(&expected));
    let path = format!("{bmcs}/{}", made["id"].as_str().unwrap());
    world
        .patch(&world.operator, &path, &json!({"name": "r1u7"}))
        .await
        .expect(200);
    assert_eq!(stream.records().await.0, std::slice::from_ref(&expected));
    world
        .ask(&world.operator, "DELETE", &path, None)
        .await
        .expect(204);
    assert_eq!(stream.records().await.0, [expected]);
}

#[tokio::test]
async fn a_client_of_another_process_or_without_sense_reads_everything_again() {
    let world = World::open().await;
    for after in ["abcdefgh-3", "nonsense", "-", "0"] {
        let mut stream = Stream::open(&world, &world.operator, &format!("{PATH}?after={after}")).await;
        let mut event = stream.next().await.unwrap();
        if event.name == "alive" {
            event = stream.next().await.unwrap();
        }
        assert_eq!(event.name, "reset", "{after}");
        let made = world.infra_env(json!({})).await;
        assert_eq!(stream.records().await.0, [of_infra_env(made)]);
    }
}

#[tokio::test]
async fn a_token_for_one_infra_env_sees_its_changes_alone() {
    let world = World::open().await;
    let (own, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    let (_, guest) = operator(&world, true, Some(own)).await;
    let mut stream = Stream::open(&world, &guest, PATH).await;
    stream.next().await.unwrap();
    world.host(other, 2).await;
    world.cluster().await;
    let host = world.host(own, 1).await;
    let (records, _) = stream.records().await;
    assert!(!records.is_empty());
    for record in records {
        assert_eq!(record["infra_env_id"], json!(own), "{record} beside {host}");
    }
    let agent = world.agent(own).await;
    assert_eq!(world.stream(&agent, PATH).await.status(), 401);
    assert_eq!(world.stream(&Credential::Nothing, PATH).await.status(), 401);
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let world = World::open().await;
    let own = world.infra_env(json!({})).await;
    let (id, guest) = operator(&world, true, Some(own)).await;
    let mut stream = Stream::open(&world, &guest, PATH).await;
    assert_eq!(stream.next().await.unwrap().name, "alive");
    let pass = async || {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(20)).await;
        tokio::time::resume();
    };
    pass().await;
    assert_eq!(stream.next().await.unwrap().name, "alive");
    world
        .operations
        .store()
        .revoke_operator_token(&id, now())
        .await
        .unwrap();
    pass().await;
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn streams_are_limited_for_each_token_and_end_with_the_service() {
    let world = World::open().await;
    let own = world.infra_env(json!({})).await;
    let (_, guest) = operator(&world, true, Some(own)).await;
    let mut streams = Vec::new();
    for _ in 0..16 {
        streams.push(Stream::open(&world, &guest, PATH).await);
    }
    let refused = world.stream(&guest, PATH).await;
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(world.stream(&world.operator, PATH).await.status(), 200);
    streams.pop();
    assert_eq!(world.stream(&guest, PATH).await.status(), 200);
    assert_eq!(world.get(&guest, PATH).await.status, 406, "without the header");
    world.operations.change_log.close();
    for mut stream in streams {
        while stream.next().await.is_some() {}
    }
}

#[tokio::test]
async fn a_job_is_a_change_for_those_who_see_it() {
    let world = World::open().await;
    let (own, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    world.host(own, 1).await;
    let (_, limited) = operator(&world, false, Some(own)).await;
    let (_, stranger) = operator(&world, true, Some(other)).await;
    let mut seen = Stream::open(&world, &limited, PATH).await;
    let mut hidden = Stream::open(&world, &stranger, PATH).await;
    for stream in [&mut seen, &mut hidden] {
        assert_eq!(stream.next().await.unwrap().name, "alive");
    }
    let body = json!({"action": {"kind": "logs"}, "selection": {"query": ""}});
    let made = world
        .post(&limited, "/api/muster/v1/jobs", &body)
        .await
        .expect(201)
        .json();
    let expected = json!({"kind": "job", "id": made["id"], "infra_env_id": own});
    assert_eq!(seen.records().await.0, [expected]);
    world.host(other, 2).await;
    for record in hidden.records().await.0 {
        assert_eq!(record["infra_env_id"], json!(other), "{record}");
    }
}
