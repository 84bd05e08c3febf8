//! The unmet requirements of a host, as its findings and in the message of its status. Rules: docs/protocol/rest-behaviour.md#3.

use muster_tests::hosts::plain::{infra_env, inventory, register, reply};
use muster_tests::http::Requests;
use serde_json::{Value, json};

use crate::service::Service;

#[test]
fn a_small_machine_becomes_insufficient_and_gets_every_lack_as_a_finding() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = register(&client, &infra_env, 1);
    assert_eq!(
        client.get(&host).expect(200).json()["status"],
        "discovering-unbound"
    );
    let mut small = inventory(1);
    small["cpu"]["count"] = 1.into();
    small["memory"] = json!({"physical_bytes": 1_u64 << 30, "usable_bytes": 1_u64 << 30});
    small["disks"].as_array_mut().unwrap().remove(0);
    client
        .post(&format!("{host}/instructions"), &reply("inventory", &small))
        .expect(204);

    let found = client.get(&host).expect(200).json();
    assert_eq!(found["status"], "insufficient-unbound");
    let why = found["status_info"].as_str().unwrap();
    for word in ["CPU", "memory", "disk"] {
        assert!(why.contains(word), "the status does not name {word}: {why}");
    }
    let findings: Value = serde_json::from_str(found["validations_info"].as_str().unwrap()).unwrap();
    let all = findings.as_object().unwrap().values().filter_map(Value::as_array);
    let all: Vec<&Value> = all.flatten().collect();
    for id in ["has-min-cpu-cores", "has-min-memory", "has-min-valid-disks"] {
        let of_id: Vec<&Value> = all
            .iter()
            .filter(|one| one["id"] == id)
            .map(|one| &one["status"])
            .collect();
        assert_eq!(of_id, ["failure"], "{id} in {findings:#}");
    }

    let id = infra_env.rsplit('/').next().unwrap();
    let events = client
        .get(&format!("/events?infra_env_id={id}"))
        .expect(200)
        .json();
    let mut moves = events.as_array().unwrap().iter();
    let is_told = moves.any(|event| {
        let message = event["message"].as_str().unwrap_or_default();
        event["name"] == "host_status_updated"
            && message.contains("from discovering-unbound to insufficient-unbound")
    });
    assert!(is_told, "{events:#}");
}
