//! The log has each change with its author.

use serde_json::json;

use crate::log;
use crate::tokens::scopes::operator;
use crate::world::{Credential, World, host_id};

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
