//! Rules for every request, on all parts of the listener. Source: docs/protocol/rest-behaviour.md#1. Those of the API are in
//! `service/rest/tests/routes/transport.rs`.

use std::collections::BTreeSet;

use muster_tests::database::Database;
use serde_json::Value;

#[test]
fn every_part_of_the_listener_gives_requests_ids() {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let mut seen = BTreeSet::new();
    for path in [
        "/health",
        "/metrics",
        "/nothing",
        "/api/assisted-install/v2/infra-envs/no-id",
        "/boot/nothing/discovery.iso",
    ] {
        let ask = |id: Option<&str>| {
            let client = id.map_or(client.clone(), |id| client.with("X-Request-ID", id));
            client
                .request("GET", path, None)
                .header("x-request-id")
                .to_owned()
        };
        let made = ask(None);
        assert!(made.len() >= 16, "{path}: {made:?}");
        assert!(seen.insert(made), "{path}: an id was given twice");
        assert_eq!(ask(Some("my-own-id-7")), "my-own-id-7", "{path}");
        assert!(ask(Some(&"x".repeat(500))).len() <= 64, "{path}");
    }
}

#[test]
fn the_command_line_prints_the_description_that_is_served() {
    let service = Database::Sqlite.serve();
    let served = service
        .http()
        .request("GET", "/api/assisted-install/v2/openapi", None)
        .expect(200)
        .json();
    let printed: Value = serde_json::from_str(&service.muster(&["openapi"])).unwrap();
    assert_eq!(served, printed);
}
