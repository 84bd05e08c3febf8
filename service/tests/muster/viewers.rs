//! A user with the viewers' kubeconfig sees objects, and no secret in them.

use muster_tests::kube::Kubectl;
use muster_tests::rest::PULL_SECRET;
use serde_json::json;

use crate::world::{LIMIT, World};

const CANARY: &str = "canary-for-viewers-58e0";

#[test]
fn viewers_see_infra_envs_and_agents_without_their_secrets() {
    let world = World::start();
    let file = json!({"path": "/etc/canary", "contents": {"source": format!("data:,{CANARY}")}});
    let ignition = json!({"ignition": {"version": "3.1.0"}, "storage": {"files": [file]}}).to_string();
    let infra_env = json!({
        "name": "hw",
        "pull_secret": PULL_SECRET,
        "ignition_config_override": ignition,
        "proxy": {"http_proxy": format!("http://robot:{CANARY}@proxy.example.com:3128")},
    });
    let made = world.rest().post("/infra-envs", &infra_env).expect(201).json();
    let hosts = format!("/infra-envs/{}/hosts", made["id"].as_str().unwrap());
    let host = "00000000-0000-4000-8000-000000000001";
    world.rest().post(&hosts, &json!({"host_id": host})).expect(201);
    let path = format!("{hosts}/{host}/ignition");
    world
        .rest()
        .patch(&path, &json!({"config": ignition}))
        .expect(201);

    let viewers = world.data_dir().join("kubeconfig-viewer");
    let viewer = Kubectl::new(&viewers).namespace("muster-rest");
    let all = ["get", "infraenvs,agents", "-o", "json"];
    let administrator = world.kubectl().namespace("muster-rest");
    administrator.await_that("the override", &["agent", host], LIMIT, |agent| {
        agent["spec"]["ignitionConfigOverrides"].as_str().map(drop)
    });
    let seen = administrator.run(&all);
    // Two overrides and a proxy.
    assert!(seen.matches(CANARY).count() >= 3, "{seen}");
    let seen = viewer.run(&all);
    assert!(
        seen.contains(host) && seen.contains("hidden-from-viewers"),
        "{seen}"
    );
    assert!(!seen.contains(CANARY), "{seen}");
    assert!(viewer.run(&["get", "agents"]).contains(host));
    assert!(!viewer.try_run(&["get", "secrets"]).succeeded);
}
