//! Hosts over REST: reports of agents and choices of users. Rules: docs/protocol/rest-behaviour.md#3 and §5.

use muster_tests::hosts::plain::{host_id, infra_env, inventory, known_host, register, reply};
use muster_tests::http::Requests;
use serde_json::{Value, json};

use crate::log;
use crate::service::Service;

#[test]
fn hosts_are_listed_in_parts_in_brief_and_only_when_they_changed() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let list = format!("{infra_env}/hosts");
    assert_eq!(client.get(&list).expect(200).json(), json!([]));
    // More than are read at once.
    for n in 1..=103 {
        known_host(&client, &infra_env, n);
    }
    let all = client.get(&list).expect(200);
    let ids = |answer: &Value| -> Vec<String> {
        let hosts = answer.as_array().unwrap().iter();
        hosts
            .map(|host| host["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let wanted: Vec<String> = (1..=103).map(host_id).collect();
    assert_eq!(ids(&all.json()), wanted);

    let (mut parts, mut after) = (Vec::new(), String::new());
    loop {
        let part = client.get(&format!("{list}?limit=40{after}")).expect(200);
        parts.extend(ids(&part.json()));
        match part.header("muster-next") {
            "" => break,
            next => after = format!("&after={next}"),
        }
    }
    assert_eq!(parts, wanted);
    client.get(&format!("{list}?limit=0")).expect(400).error_message();
    let gone = client.get(&format!("{list}?after={}", host_id(999)));
    gone.expect(400).error_message();

    let brief = client.get(&format!("{list}?brief=true")).expect(200).json();
    assert_eq!(ids(&brief), wanted);
    assert_eq!(brief[0]["requested_hostname"], "host-1");
    assert!(brief[0].get("inventory").is_none(), "{}", brief[0]);

    let since = client.with("If-None-Match", all.header("etag"));
    client
        .get(&format!(
            "{list}/{}/instructions?timestamp=1760000000",
            host_id(1)
        ))
        .expect(200);
    let unchanged = since.get(&list).expect(304);
    assert!(unchanged.body.is_empty() && unchanged.header("etag") == all.header("etag"));
    client
        .patch(
            &format!("{list}/{}", host_id(1)),
            &json!({"host_name": "renamed"}),
        )
        .expect(201);
    let changed = since.get(&list).expect(200).json();
    assert_eq!(changed[0]["requested_hostname"], "renamed");
}

#[test]
fn a_machine_registers_reports_and_becomes_known() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let id = host_id(1);
    let body = json!({"host_id": id, "discovery_agent_version": "v1"});
    let registered = client
        .post(&format!("{infra_env}/hosts"), &body)
        .expect(201)
        .json();
    assert_eq!(registered["id"], id.as_str());
    assert_eq!(registered["status"], "discovering-unbound");
    assert_eq!(registered["kind"], "Host");
    let runner: Value = serde_json::from_str(
        registered["next_step_runner_command"]["args"][0]
            .as_str()
            .unwrap(),
    )
    .unwrap();
    assert_eq!(runner["host_id"], id.as_str());
    assert_eq!(
        infra_env,
        format!("/infra-envs/{}", runner["infra_env_id"].as_str().unwrap())
    );

    let host = format!("{infra_env}/hosts/{id}");
    let steps = client
        .get(&format!("{host}/instructions?timestamp=1760000000"))
        .expect(200)
        .json();
    assert_eq!(
        (&steps["next_instruction_seconds"], &steps["post_step_action"]),
        (&json!(60), &json!("continue"))
    );
    let types: Vec<&str> = steps["instructions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["step_type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["inventory", "ntp-synchronizer"]);

    client
        .post(
            &format!("{host}/instructions"),
            &reply("inventory", &inventory(1)),
        )
        .expect(204);
    let sources = json!({"ntp_sources": [{"source_name": "198.51.100.1", "source_state": "synced"}]});
    client
        .post(
            &format!("{host}/instructions"),
            &reply("ntp-synchronizer", &sources),
        )
        .expect(204);
    let known = client.get(&host).expect(200).json();
    assert_eq!(known["status"], "known-unbound", "{known}");
    assert_eq!(known["requested_hostname"], "host-1");
    let reported: Value = serde_json::from_str(known["inventory"].as_str().unwrap()).unwrap();
    assert_eq!(reported["system_vendor"]["serial_number"], "SN-1");
    assert_eq!(reported["disks"][0]["installation_eligibility"]["eligible"], true);
    let small = &reported["disks"][1]["installation_eligibility"];
    assert!(small.get("eligible").is_none(), "false is left out: {small}");
    assert!(
        small["not_eligible_reasons"][0].as_str().unwrap().contains("GB"),
        "{small}"
    );
    assert_eq!(known["installation_disk_path"], "/dev/sda");
    let sources: Value = serde_json::from_str(known["ntp_sources"].as_str().unwrap()).unwrap();
    assert_eq!(sources[0]["source_state"], "synced");
    assert_eq!(
        client.get(&format!("{infra_env}/hosts")).expect(200).json(),
        json!([known])
    );

    // Too small a machine: its finding shows that.
    let small = register(&client, &infra_env, 2);
    let mut little = inventory(2);
    little["memory"] = json!({"physical_bytes": 1_u64 << 30, "usable_bytes": 1_u64 << 30});
    client
        .post(&format!("{small}/instructions"), &reply("inventory", &little))
        .expect(204);
    let found = client.get(&small).expect(200).json();
    assert_eq!(found["status"], "insufficient-unbound");
    assert!(
        found["status_info"]
            .as_str()
            .unwrap()
            .to_lowercase()
            .contains("memory"),
        "{}",
        found["status_info"]
    );
    assert!(
        found["validations_info"].as_str().unwrap().contains("has-memory"),
        "{}",
        found["validations_info"]
    );

    client.delete(&host).expect(204);
    client.get(&host).expect(404);
    client.get(&format!("{host}/instructions")).expect(404);
    client.delete(&host).expect(404);
    let ids: Vec<Value> = client
        .get(&format!("{infra_env}/hosts"))
        .expect(200)
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|host| host["id"].clone())
        .collect();
    assert_eq!(ids, [json!(host_id(2))]);
    // A deleted machine that boots again is accepted.
    let back = client
        .post(&format!("{infra_env}/hosts"), &body)
        .expect(201)
        .json();
    assert_eq!(back["status"], "discovering-unbound");
}

#[test]
fn registering_again_starts_anew_and_keeps_what_the_user_chose() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = known_host(&client, &infra_env, 1);
    let chosen = json!({"host_name": "chosen.example.test", "host_role": "worker", "node_labels": [{"key": "rack", "value": "7"}]});
    client.patch(&host, &chosen).expect(201);
    let before = client.get(&host).expect(200).json();

    let body = json!({"host_id": host_id(1), "discovery_agent_version": "v2"});
    let again = client
        .post(&format!("{infra_env}/hosts"), &body)
        .expect(201)
        .json();
    assert_eq!(
        (&again["status"], &again["status_info"]),
        (&Value::Null, &Value::Null)
    );
    let after = client.get(&host).expect(200).json();
    assert_eq!(after["status"], "discovering-unbound");
    assert!(after.get("inventory").is_none(), "{after}");
    assert_eq!(after["discovery_agent_version"], "v2");
    assert_ne!(after["registered_at"], before["registered_at"]);
    for kept in ["created_at", "requested_hostname", "role", "node_labels"] {
        assert_eq!(after[kept], before[kept], "{kept}");
    }
    client
        .post(
            &format!("{host}/instructions"),
            &reply("inventory", &inventory(1)),
        )
        .expect(204);
    assert_eq!(client.get(&host).expect(200).json()["status"], "known-unbound");
    assert_eq!(
        client
            .get(&format!("{infra_env}/hosts"))
            .expect(200)
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn the_same_machine_in_two_infra_envs_is_two_hosts() {
    let service = Service::start();
    let client = service.http();
    let (one, two) = (infra_env(&client), infra_env(&client));
    let first = known_host(&client, &one, 1);
    let second = register(&client, &two, 1);
    assert_eq!(client.get(&first).expect(200).json()["status"], "known-unbound");
    assert_eq!(
        client.get(&second).expect(200).json()["status"],
        "discovering-unbound"
    );
    client.delete(&second).expect(204);
    client.get(&first).expect(200);
}

#[test]
fn users_choose_name_role_disks_and_labels() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = known_host(&client, &infra_env, 1);
    let wanted = json!({
        "host_name": "a-name.example.test", "host_role": "master",
        "disks_selected_config": [{"id": "/dev/sda", "role": "install"}],
        "disks_skip_formatting": [{"disk_id": "/dev/disk/by-id/wwn-sdb", "skip_formatting": true}],
        "node_labels": [{"key": "node.example.test/rack", "value": "seven"}], "machine_config_pool_name": "infra",
        "ignition_endpoint_token": "a-secret-token", "ignition_endpoint_http_headers": [{"key": "X-One", "value": "1"}],
    });
    let changed = client.patch(&host, &wanted).expect(201).json();
    assert_eq!(changed["requested_hostname"], "a-name.example.test");
    assert_eq!(
        (&changed["role"], &changed["suggested_role"]),
        (&json!("master"), &json!("master"))
    );
    assert_eq!(changed["installation_disk_path"], "/dev/sda");
    assert_eq!(changed["machine_config_pool_name"], "infra");
    let labels: Value = serde_json::from_str(changed["node_labels"].as_str().unwrap()).unwrap();
    assert_eq!(labels, json!({"node.example.test/rack": "seven"}));
    assert_eq!(changed["ignition_endpoint_token_set"], true);
    assert!(!changed.to_string().contains("a-secret-token"));
    assert_eq!(client.get(&host).expect(200).json(), changed);
    let cleared = client
        .patch(&host, &json!({"node_labels": [], "ignition_endpoint_token": ""}))
        .expect(201)
        .json();
    assert!(!cleared.to_string().contains("seven"), "{cleared}");
    assert_ne!(cleared["ignition_endpoint_token_set"], true);
    assert_eq!(cleared["requested_hostname"], "a-name.example.test");
    assert!(!log::text().contains("a-secret-token"));
}

#[test]
fn every_bad_choice_is_refused_by_name_and_none_of_it_is_taken() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = known_host(&client, &infra_env, 1);
    let before = client.get(&host).expect(200).json();
    let label = |key: &str, value: &str| json!([{"key": key, "value": value}]);
    let install = |id: &str| json!([{"id": id, "role": "install"}]);
    let cases = [
        ("host_name", json!("localhost"), 400, "localhost"),
        ("host_name", json!("Upper"), 400, "Upper"),
        ("host_name", json!(""), 400, "name"),
        ("host_name", json!("a".repeat(64)), 400, "63"),
        ("host_name", json!("a b"), 400, "a b"),
        ("host_name", json!(7), 400, "host_name"),
        ("host_role", json!("king"), 400, "host_role"),
        ("disks_selected_config", json!([]), 409, "disks_selected_config"),
        (
            "disks_selected_config",
            json!([{"id": "/dev/sda", "role": "none"}]),
            409,
            "disks_selected_config",
        ),
        (
            "disks_selected_config",
            json!([{"id": "/dev/sda", "role": "install"}, {"id": "/dev/sdb", "role": "install"}]),
            409,
            "disks_selected_config",
        ),
        (
            "disks_selected_config",
            install("/dev/nothing"),
            409,
            "/dev/nothing",
        ),
        ("disks_selected_config", install("/dev/sdb"), 409, "/dev/sdb"),
        (
            "disks_selected_config",
            json!([{"id": "/dev/sda", "role": "toast"}]),
            400,
            "disks_selected_config[0].role",
        ),
        (
            "disks_skip_formatting",
            json!([{"disk_id": "/dev/sda", "skip_formatting": true}]),
            400,
            "disks_skip_formatting",
        ),
        (
            "disks_skip_formatting",
            json!([{"disk_id": 7, "skip_formatting": true}]),
            400,
            "disks_skip_formatting[0].disk_id",
        ),
        ("node_labels", label("", "v"), 400, "node_labels"),
        ("node_labels", label("-bad", "v"), 400, "node_labels"),
        ("node_labels", label("key", "bad value"), 400, "node_labels"),
        ("node_labels", label("key", &"v".repeat(64)), 400, "node_labels"),
        (
            "machine_config_pool_name",
            json!("two\nlines"),
            400,
            "machine_config_pool_name",
        ),
        (
            "ignition_endpoint_token",
            json!("a\r\nb"),
            400,
            "ignition_endpoint_token",
        ),
        (
            "ignition_endpoint_http_headers",
            label("bad name", "v"),
            400,
            "ignition_endpoint_http_headers",
        ),
        (
            "ignition_endpoint_http_headers",
            label("X-One", "a\r\nX-Two: b"),
            400,
            "ignition_endpoint_http_headers",
        ),
        (
            "fencing_credentials",
            json!({"address": "x"}),
            400,
            "fencing_credentials",
        ),
    ];
    for (field, value, status, named) in cases {
        let body = json!({"machine_config_pool_name": "other", field: value});
        let refused = client.patch(&host, &body);
        assert_eq!(refused.status, status, "{field} = {value}: {}", refused.text());
        let message = refused.error_message();
        assert!(message.contains(named), "{field} = {value}: {message}");
    }
    assert_eq!(client.get(&host).expect(200).json(), before);
    // Disks are unknown before the inventory.
    let fresh = register(&client, &infra_env, 2);
    client
        .patch(&fresh, &json!({"disks_selected_config": install("/dev/sda")}))
        .expect(409)
        .error_message();
}

#[test]
fn replies_that_are_not_what_the_step_answers_are_refused() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = known_host(&client, &infra_env, 1);
    let path = format!("{host}/instructions");
    let before = client.get(&host).expect(200).json();
    let raw = |step: &str, output: &str| json!({"step_type": step, "exit_code": 0, "output": output});
    for (body, named) in [
        (raw("inventory", "no JSON"), "inventory"),
        (raw("inventory", ""), "inventory"),
        (raw("inventory", "[]"), "inventory"),
        (raw("inventory", "{\"disks\": 7}"), "disks"),
        (raw("inventory", "{\"cpu\": {\"count\": \"many\"}}"), "cpu.count"),
        (
            raw("inventory", "{\"memory\": {\"physical_bytes\": \"much\"}}"),
            "memory.physical_bytes",
        ),
        (raw("ntp-synchronizer", "{\"ntp_sources\": {}}"), "ntp_sources"),
        (raw("ntp-synchronizer", "nonsense"), "ntp-synchronizer"),
        (raw("make-coffee", "{}"), "step_type"),
        (json!({"exit_code": 0, "output": "{}"}), "step_type"),
        (
            json!({"step_type": "inventory", "exit_code": "none", "output": "{}"}),
            "exit_code",
        ),
    ] {
        let message = client.post(&path, &body).expect(400).error_message();
        assert!(message.contains(named), "{body}: {message}");
    }
    // A step that failed on the host is accepted and changes nothing.
    let failed = json!({"step_type": "inventory", "exit_code": 1, "output": "", "error": "no lshw"});
    client.post(&path, &failed).expect(204);
    assert_eq!(
        client.get(&host).expect(200).json()["inventory"],
        before["inventory"]
    );
}

/// The reply of another vendor's agent that could not run a step at all.
#[test]
fn a_failed_step_without_a_type_is_taken_and_kept() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = register(&client, &infra_env, 1);
    let failed = json!({"step_id": "", "exit_code": -1, "error": "no such program"});
    client.post(&format!("{host}/instructions"), &failed).expect(204);
    let query = format!("/events?host_ids={}", host_id(1));
    let events = client.get(&query).expect(200).json();
    let kept = events.as_array().unwrap().iter();
    let kept: Vec<_> = kept
        .filter(|event| event["name"] == "muster_step_failed")
        .collect();
    assert_eq!(kept.len(), 1, "{events}");
    let message = kept[0]["message"].as_str().unwrap();
    assert!(
        message.contains("-1") && message.contains("no such program"),
        "{message}"
    );
    let stranger = format!("{infra_env}/hosts/{}/instructions", host_id(9));
    client.post(&stranger, &failed).expect(404);
    let untold = json!({"step_id": "", "exit_code": 0, "output": "{}"});
    let refused = client.post(&format!("{host}/instructions"), &untold).expect(400);
    assert!(refused.error_message().contains("step_type"));
}
