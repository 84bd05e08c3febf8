//! The session of an installed node.

use std::sync::Arc;
use std::time::Duration;

use muster_agent::session::node;
use muster_agent::session::steps::Registry;
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::fake_service::FakeService;
use super::{Echo, client};
use crate::HOST;

#[tokio::test]
async fn a_node_polls_and_answers_and_never_registers() {
    let mut service = FakeService::start().await;
    service.instruct_with(503, "");
    let steps = json!({"next_instruction_seconds": 1, "instructions": [
        {"step_type": "inventory", "step_id": "inventory-1", "args": ["here"]},
        {"step_type": "install", "step_id": "install-1", "args": ["{}"]},
    ]});
    service.instruct_with(200, &steps.to_string());
    service.instruct_with(200, r#"{"next_instruction_seconds":1,"post_step_action":"exit"}"#);
    let stop = CancellationToken::new();
    let registry = Arc::new(Registry::new(vec![Arc::new(Echo)]));
    let session = node::run(
        client(&service, "secret"),
        HOST.parse().unwrap(),
        "0.0.9".to_owned(),
        registry,
        stop.clone(),
    );
    let session = tokio::spawn(session);
    let (mut polls, mut replies) = (0, Vec::new());
    while polls < 4 || replies.len() < 2 {
        let seen = service.next().await;
        assert!(!seen.line.ends_with("/hosts"), "{}", seen.line);
        assert!(seen.line.contains(HOST), "{}", seen.line);
        assert_eq!(seen.header("x-secret-key"), "secret");
        if seen.line.starts_with("GET") {
            polls += 1;
        } else {
            replies.push(seen.body);
        }
    }
    let reply_to = |step: &str| replies.iter().find(|reply| reply["step_type"] == step).unwrap();
    assert_eq!(reply_to("inventory")["output"], "here");
    let install = reply_to("install")["error"].as_str().unwrap();
    assert!(install.contains("failed to find action"), "{install}");
    stop.cancel();
    timeout(Duration::from_secs(60), session).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_node_goes_on_with_the_token_that_it_is_handed() {
    let mut service = FakeService::start().await;
    service.replace_token("the-new-one");
    service.instruct_with(200, r#"{"next_instruction_seconds":1}"#);
    let stop = CancellationToken::new();
    let client = client(&service, "the-old-one");
    let session = tokio::spawn(node::run(
        client.clone(),
        HOST.parse().unwrap(),
        "0.0.9".to_owned(),
        Arc::new(Registry::new(Vec::new())),
        stop.clone(),
    ));
    for expected in ["the-old-one", "the-new-one", "the-new-one"] {
        assert_eq!(service.next().await.header("x-secret-key"), expected);
    }
    assert!(!format!("{:?}", client.token()).contains("the-new-one"));
    stop.cancel();
    timeout(Duration::from_secs(60), session).await.unwrap().unwrap();
}
