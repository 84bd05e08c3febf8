//! The log and the audit have each change with its author.

use muster_tests::http::Answer;
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

use crate::log;
use crate::tokens::scopes::operator;
use crate::world::{Credential, Settings, World, host_id};

#[tokio::test]
async fn every_change_is_logged_with_who_made_it() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let (id, token) = operator(&world, false, None).await;
    let host = world.host(pool, 1).await;
    world
        .patch(&token, &host, &json!({"host_name": "renamed"}))
        .await
        .expect(201);
    world.get(&token, &host).await.expect(200);
    world
        .post(&token, &format!("{host}/actions/unbind"), &json!({}))
        .await;

    let who = format!("operator ci ({id})");
    let changed = log::line(&["changed", &who, "PATCH", "/hosts/{host_id}", "201"]);
    for word in [pool.to_string(), host_id(1)] {
        assert!(changed.contains(&word), "{changed}");
    }
    log::line(&["changed", &who, "/actions/unbind", "409"]);
    log::line(&[
        "changed",
        &format!("agent of InfraEnv {pool}"),
        "POST",
        "/hosts",
        "201",
    ]);
    let text = log::text();
    let reading = text
        .lines()
        .find(|line| line.contains("changed") && line.contains("GET") && line.contains(&who));
    assert_eq!(reading, None, "reading is no change");
    let Credential::Operator(secret) = &token else {
        unreachable!()
    };
    assert!(!text.contains(secret.as_str()));
}

const AUDIT: &str = "/api/muster/v1/audit";

/// The entries of an answer.
fn entries(answer: &Answer) -> Vec<Value> {
    answer.json()["entries"].as_array().unwrap().clone()
}

#[tokio::test]
async fn the_audit_has_who_requested_which_change_of_what() {
    let world = World::open().await;
    let (id, token) = operator(&world, false, None).await;
    let body = json!({"name": "lab", "pull_secret": PULL_SECRET});
    let made = world.post(&token, "/infra-envs", &body).await.expect(201);
    let pool = made.json()["id"].as_str().unwrap().to_owned();
    // What agents send is not in it.
    let host = world.host(pool.parse().unwrap(), 1).await;
    let renamed = json!({"host_name": "renamed"});
    let headers = [("x-request-id", "request-7".to_owned())];
    world
        .send(&token, "PATCH", &host, Some(&renamed), &headers)
        .await
        .expect(201);
    world
        .post(&token, &format!("{host}/actions/unbind"), &json!({}))
        .await;
    world.get(&token, &host).await.expect(200);

    let answer = world.get(&token, &format!("{AUDIT}?after=0")).await.expect(200);
    let found = entries(&answer);
    let seen: Vec<(&str, &str, u64)> = found
        .iter()
        .map(|entry| {
            (
                entry["method"].as_str().unwrap(),
                entry["operation"].as_str().unwrap(),
                entry["status"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("POST", "RegisterInfraEnv", 201),
            ("PATCH", "v2UpdateHost", 201),
            ("POST", "UnbindHost", 409),
        ]
    );
    assert_eq!(
        found[0]["object"],
        json!({"kind": "infra-env", "id": pool, "name": "lab"})
    );
    let object = &found[1]["object"];
    assert_eq!(
        (&object["kind"], &object["id"], &object["infra_env_id"]),
        (&json!("host"), &json!(host_id(1)), &json!(pool))
    );
    assert_eq!(found[1]["request_id"], "request-7");
    for entry in &found {
        assert_eq!(
            (&entry["who"], &entry["token_id"], entry.get("session_id")),
            (&json!("ci"), &json!(id), None)
        );
    }
    assert_eq!(answer.json()["next"], 3);
    let Credential::Operator(secret) = &token else {
        unreachable!("it is an operator's")
    };
    let text = answer.text();
    assert!(!text.contains(secret.as_str()) && !text.contains("renamed\"") && !text.contains("auths"));
}

#[tokio::test]
async fn a_change_whose_client_went_away_is_in_the_audit() {
    let world = World::open().await;
    let (_, token) = operator(&world, false, None).await;
    world.give_up(&token, "POST", "/infra-envs").await;
    let found = entries(&world.get(&token, AUDIT).await.expect(200));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["who"], &found[0]["operation"], &found[0]["status"]),
        (&json!("ci"), &json!("RegisterInfraEnv"), &json!(499))
    );
}

#[tokio::test]
async fn the_audit_is_read_in_parts_and_as_lines() {
    let world = World::open().await;
    for _ in 0..3 {
        world.infra_env(json!({})).await;
    }
    let get = async |query: &str| world.get(&world.operator, &format!("{AUDIT}{query}")).await;
    let numbers = async |query: &str| {
        let answer = get(query).await.expect(200);
        let numbers: Vec<i64> = entries(&answer)
            .iter()
            .map(|entry| entry["number"].as_i64().unwrap())
            .collect();
        let read = answer.json();
        (numbers, read["next"].as_i64().unwrap(), read["more"] == true)
    };
    assert_eq!(numbers("").await, (vec![1, 2, 3], 3, false));
    assert_eq!(numbers("?limit=2").await, (vec![2, 3], 3, true));
    assert_eq!(numbers("?after=1&limit=1").await, (vec![2], 2, true));
    assert_eq!(numbers("?after=3").await, (Vec::new(), 3, false));
    assert_eq!(numbers("?before=3&limit=5").await, (vec![1, 2], 2, false));
    let lines = get("?format=jsonl&after=1").await.expect(200);
    assert_eq!(lines.header("content-type"), "application/jsonl");
    let lines: Vec<Value> = lines
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        lines
            .iter()
            .map(|line| line["number"].clone())
            .collect::<Vec<_>>(),
        [2, 3]
    );
    for wrong in [
        "?limit=0",
        "?limit=1001",
        "?after=-1",
        "?before=0",
        "?after=1&before=3",
        "?format=jsonl&limit=5",
        "?format=xml",
    ] {
        get(wrong).await.expect(400);
    }
}

#[tokio::test]
async fn the_audit_is_for_operators_who_may_read_everything() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let (_, reader) = operator(&world, true, None).await;
    let (_, confined) = operator(&world, false, Some(pool)).await;
    world.get(&reader, AUDIT).await.expect(200);
    world.get(&confined, AUDIT).await.expect(403);
    world.get(&world.agent(pool).await, AUDIT).await.expect(401);
    world.get(&Credential::Nothing, AUDIT).await.expect(401);
    // What the gate refuses is in the log alone.
    let before = entries(&world.get(&reader, AUDIT).await).len();
    world
        .post(&reader, "/infra-envs", &json!({"name": "lab"}))
        .await
        .expect(403);
    assert_eq!(entries(&world.get(&reader, AUDIT).await).len(), before);
}

#[tokio::test]
async fn sessions_are_in_the_audit_from_their_beginning() {
    let world = World::open().await;
    let (id, token) = operator(&world, false, None).await;
    let begun = world
        .post(&token, "/api/muster/v1/sessions", &json!({}))
        .await
        .expect(201);
    let session = begun.json()["session_id"].as_str().unwrap().to_owned();
    let (secret, _) = begun.header("set-cookie").split_once(';').unwrap();
    let secret = secret.strip_prefix("__Host-muster=").unwrap();
    let own = [("sec-fetch-site", "same-origin".to_owned())];
    let credential = Credential::Session(secret.to_owned());
    world
        .send(&credential, "DELETE", "/api/muster/v1/session", None, &own)
        .await
        .expect(204);
    let answer = world.get(&token, AUDIT).await.expect(200);
    let found = entries(&answer);
    let operations: Vec<&Value> = found.iter().map(|entry| &entry["operation"]).collect();
    assert_eq!(operations, ["MusterBeginSession", "MusterEndSession"]);
    for entry in &found {
        assert_eq!(
            (&entry["token_id"], &entry["session_id"]),
            (&json!(id), &json!(session))
        );
    }
    assert!(!answer.text().contains(secret));
}

#[tokio::test]
async fn without_tokens_people_are_anybody_and_agents_are_left_out() {
    let world = World::with(Settings {
        asks_for_tokens: false,
        ..Settings::default()
    })
    .await;
    let pool = world.infra_env(json!({})).await;
    let hosts = format!("/infra-envs/{pool}/hosts");
    world
        .post(&Credential::Nothing, &hosts, &json!({"host_id": host_id(1)}))
        .await
        .expect(201);
    let found = entries(&world.get(&Credential::Nothing, AUDIT).await.expect(200));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["who"], &found[0]["operation"]),
        (&json!("anybody"), &json!("RegisterInfraEnv"))
    );
}
