//! SIGTERM ends a service at once if no client waits for it.

use muster_tests::process::Signal;
use muster_tests::rest::PULL_SECRET;
use serde_json::json;

use crate::world::{LIMIT, World};

#[test]
fn a_service_ends_at_once_and_its_controllers_with_it() {
    let mut world = World::start();
    let body = json!({"name": "hw", "pull_secret": PULL_SECRET});
    let made = world.rest().post("/infra-envs", &body).expect(201).json();
    let infra_env = made["id"].as_str().expect("an InfraEnv has an id");
    let host = "00000000-0000-4000-8000-000000000001";
    world
        .rest()
        .post(
            &format!("/infra-envs/{infra_env}/hosts"),
            &json!({"host_id": host}),
        )
        .expect(201);
    let kubectl = world.kubectl().namespace("muster-rest");
    kubectl.await_that("the Agent", &["agent", host], LIMIT, |_| Some(()));
    world.service.signal(Signal::SIGTERM);
    let status = world.service.await_exit(LIMIT);
    assert_eq!(status.code(), Some(0));
    // Controllers that do not end are cut off after 5 s, and the log has it.
    let log = world.service.transcript().text();
    assert!(!log.contains("in time"), "{log}");
}
