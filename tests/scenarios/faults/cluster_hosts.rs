//! Hosts that enter clusters and return, over REST. Rules: docs/protocol/rest-behaviour.md#5 and §6.

use muster_tests::artifacts::live_image;
use muster_tests::hosts::clusters::{import, known_in, wait};
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

use muster_tests::database::{Database, host_id, infra_env, known_host, on_each_database, register};

on_each_database!(
    a_host_is_bound_validated_installed_and_unbound,
    an_infra_env_of_a_cluster_takes_hosts_into_it_until_the_cluster_is_gone,
    hosts_of_a_cluster_are_validated_again_when_another_takes_their_name,
    a_second_machine_of_one_id_is_kept_beside_the_first,
    two_boards_of_one_serial_that_share_a_card_of_their_controllers_stay_two_hosts,
);

fn a_host_is_bound_validated_installed_and_unbound(database: Database) {
    let service = database.serve_with(|settings| settings.live_image(&live_image()));
    let client = service.http();
    let infra_env = infra_env(&client);
    let cluster = import(&client, "day2");
    let host = known_in(&client, &infra_env, 1, &cluster);
    let seen = wait(&client, &host, "known", |host| host["status"] == "known");
    assert_eq!(seen["kind"], "AddToExistingClusterHost");
    let listed = client
        .get(&format!("/clusters/{cluster}/hosts"))
        .expect(200)
        .json();
    assert_eq!(
        (listed.as_array().unwrap().len(), &listed[0]["id"]),
        (1, &seen["id"])
    );
    assert!(listed[0].get("inventory").is_none());
    let with = client.get(&format!(
        "/clusters/{cluster}/hosts?with-inventory=true&status=known"
    ));
    assert!(with.expect(200).json()[0]["inventory"].is_string());
    let shown = client.get(&format!("/clusters/{cluster}")).expect(200).json();
    assert_eq!(
        (&shown["total_host_count"], &shown["ready_host_count"]),
        (&json!(1), &json!(1))
    );
    assert!(!shown["host_networks"].as_array().unwrap().is_empty());

    let installing = client
        .post(&format!("{host}/actions/install"), &json!({}))
        .expect(202)
        .json();
    assert_eq!(installing["status"], "installing");
    for stage in ["Installing", "Writing image to disk", "Rebooting"] {
        client
            .put(&format!("{host}/progress"), &json!({"current_stage": stage}))
            .expect(200);
    }
    assert_eq!(client.get(&host).json()["status"], "added-to-existing-cluster");
    client
        .put(&format!("{host}/progress"), &json!({"current_stage": "Dancing"}))
        .expect(400);
    // The boot script for its firmware redirects it to its disk; an unknown machine gets a script.
    let made_of: Value = serde_json::from_str(seen["inventory"].as_str().unwrap()).unwrap();
    let mac = made_of["interfaces"][0]["mac_address"].as_str().unwrap();
    let script = |mac: &str| {
        client.get(&format!(
            "{infra_env}/downloads/files?file_name=ipxe-script&mac={mac}"
        ))
    };
    let message = script(mac).expect(404).error_message();
    assert!(message.contains("boots from its disk"), "{message}");
    script("02:00:00:00:99:99").expect(200);

    let free = client
        .post(&format!("{host}/actions/unbind"), &json!({}))
        .expect(200)
        .json();
    assert_eq!(free["status"], "unbinding-pending-user-action");
    assert!(free.get("cluster_id").is_none());
    assert_eq!(
        client
            .get(&format!("/clusters/{cluster}/hosts"))
            .expect(200)
            .json(),
        json!([])
    );
    register(&client, &infra_env, 1);
    assert_eq!(client.get(&host).json()["status"], "discovering-unbound");
}

#[test]
fn refused_actions_name_the_state_and_are_reported() {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let infra_env = infra_env(&client);
    let cluster = import(&client, "day2");
    let host = register(&client, &infra_env, 1);
    let bind = json!({"cluster_id": cluster});
    let act = |action: &str, body: &Value| client.post(&format!("{host}/actions/{action}"), body);
    let message = act("bind", &bind).expect(400).error_message();
    assert!(message.contains("discovering-unbound"), "{message}");
    for action in ["unbind", "install", "reset"] {
        let message = act(action, &json!({})).expect(409).error_message();
        assert!(message.contains("discovering-unbound"), "{action}: {message}");
    }
    client
        .post(&format!("{infra_env}/hosts/{}/actions/bind", host_id(9)), &bind)
        .expect(404);
    let known = known_host(&client, &infra_env, 2);
    let nowhere = json!({"cluster_id": host_id(9)});
    client
        .post(&format!("{known}/actions/bind"), &nowhere)
        .expect(400)
        .error_message();
    client.post(&format!("{known}/actions/bind"), &bind).expect(200);
    let message = client
        .post(&format!("{known}/actions/bind"), &bind)
        .expect(400)
        .error_message();
    assert!(message.contains("binding"), "{message}");
    client
        .put(
            &format!("{host}/progress"),
            &json!({"current_stage": "Installing"}),
        )
        .expect(405);
    let events = client
        .get(&format!("/events?host_id={}", host_id(1)))
        .expect(200)
        .json();
    assert!(
        events
            .as_array()
            .unwrap()
            .iter()
            .any(|event| event["name"] == "host_bind_failed"),
        "{events}"
    );
}

fn an_infra_env_of_a_cluster_takes_hosts_into_it_until_the_cluster_is_gone(database: Database) {
    let service = database.serve();
    let client = service.http();
    let cluster = import(&client, "day2");
    let body = |cluster: &str| json!({"name": "hw", "pull_secret": PULL_SECRET, "cluster_id": cluster});
    client
        .post("/infra-envs", &body(&host_id(9)))
        .expect(404)
        .error_message();
    let made = client.post("/infra-envs", &body(&cluster)).expect(201).json();
    let other = infra_env(&client);
    let infra_env = format!("/infra-envs/{}", made["id"].as_str().unwrap());
    let listed = client
        .get(&format!("/infra-envs?cluster_id={cluster}"))
        .expect(200)
        .json();
    assert_eq!(
        (listed.as_array().unwrap().len(), &listed[0]["id"]),
        (1, &made["id"])
    );
    let host = register(&client, &infra_env, 1);
    let seen = client.get(&host).expect(200).json();
    assert_eq!(
        (
            &seen["status"],
            &seen["cluster_id"],
            &seen["role"],
            &seen["machine_config_pool_name"]
        ),
        (
            &json!("discovering"),
            &json!(cluster),
            &json!("worker"),
            &json!("worker")
        )
    );
    let message = client
        .post(&format!("{host}/actions/unbind"), &json!({}))
        .expect(409)
        .error_message();
    assert!(message.contains("InfraEnv"), "{message}");
    let bound = known_in(&client, &other, 2, &cluster);

    client.delete(&format!("/clusters/{cluster}")).expect(204);
    client.get(&host).expect(404);
    let free = client.get(&bound).expect(200).json();
    assert_eq!(free["status"], "unbinding");
    assert!(free.get("cluster_id").is_none());
    // Agents stop forever at 409, which is right if a retry cannot succeed.
    let body = json!({"host_id": host_id(3)});
    let message = client
        .post(&format!("{infra_env}/hosts"), &body)
        .expect(409)
        .error_message();
    assert!(message.contains("cluster"), "{message}");
}

fn hosts_of_a_cluster_are_validated_again_when_another_takes_their_name(database: Database) {
    let service = database.serve();
    let client = service.http();
    let infra_env = infra_env(&client);
    let cluster = import(&client, "day2");
    let one = known_in(&client, &infra_env, 1, &cluster);
    let two = known_in(&client, &infra_env, 2, &cluster);
    for host in [&one, &two] {
        wait(&client, host, "known", |host| host["status"] == "known");
    }
    let name = json!({"host_name": "twin"});
    client.patch(&one, &name).expect(201);
    client.patch(&two, &name).expect(201);
    let seen = wait(&client, &one, "validated again", |host| {
        host["status"] == "insufficient"
    });
    let checks = seen["validations_info"].as_str().unwrap();
    assert!(checks.contains("hostname-unique"), "{checks}");
    client.patch(&two, &json!({"host_name": "other"})).expect(201);
    wait(&client, &one, "known again", |host| host["status"] == "known");
}

fn a_second_machine_of_one_id_is_kept_beside_the_first(database: Database) {
    let service = database.serve();
    let client = service.http();
    let infra_env = infra_env(&client);
    let speaks = |mac: &str| {
        let fingerprint = json!({"board_serial": "To be filled", "macs": [mac]});
        let client = client.with("x-muster-fingerprint", &fingerprint.to_string());
        let body = json!({"host_id": host_id(1), "discovery_agent_version": "muster-agent/0.1.0"});
        let registered = client
            .post(&format!("{infra_env}/hosts"), &body)
            .expect(201)
            .json();
        let runner = registered["next_step_runner_command"]["args"][0]
            .as_str()
            .unwrap();
        let runner: Value = serde_json::from_str(runner).unwrap();
        assert_eq!(runner["host_id"], registered["id"], "both have the same id");
        registered["id"].as_str().unwrap().to_owned()
    };
    let first = speaks("52:54:00:00:00:01");
    assert_eq!(first, host_id(1));
    let second = speaks("52:54:00:00:00:02");
    assert_ne!(second, first);
    assert_eq!(speaks("52:54:00:00:00:01"), first, "the first keeps its id");
    assert_eq!(speaks("52:54:00:00:00:02"), second, "and the second its own");
    let listed = client.get(&format!("{infra_env}/hosts")).expect(200).json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    for (id, other) in [(&first, &second), (&second, &first)] {
        let host = client.get(&format!("{infra_env}/hosts/{id}")).expect(200).text();
        assert!(
            host.contains("duplicate-host-id") && host.contains(other.as_str()),
            "{host}"
        );
    }
    let path = format!("{infra_env}/hosts/{first}/actions/settle-identity");
    let settled = client.post(&path, &json!({})).expect(200).text();
    assert!(!settled.contains("duplicate-host-id"), "{settled}");
    speaks("52:54:00:00:00:02");
    let host = client
        .get(&format!("{infra_env}/hosts/{first}"))
        .expect(200)
        .text();
    assert!(!host.contains("duplicate-host-id"), "settled is settled: {host}");
}

/// Such boards have the same serial number, UUID and, on the controller's network card, MAC address.
fn two_boards_of_one_serial_that_share_a_card_of_their_controllers_stay_two_hosts(database: Database) {
    let service = database.serve();
    let client = service.http();
    let infra_env = infra_env(&client);
    let registers = |macs: [&str; 2], wwn: &str| {
        let fingerprint = json!({
            "board_serial": "To be filled", "system_uuid": "03000200-0400-0500-0006-000700080009",
            "macs": macs, "disk_wwns": [wwn],
        });
        let client = client.with("x-muster-fingerprint", &fingerprint.to_string());
        let body = json!({"host_id": host_id(1), "discovery_agent_version": "muster-agent/0.1.0"});
        let registered = client.post(&format!("{infra_env}/hosts"), &body).expect(201);
        registered.json()["id"].as_str().unwrap().to_owned()
    };
    let first = || registers(["00:25:90:00:00:01", "00:e0:4c:00:00:99"], "0x5000c50000000001");
    let second = || registers(["00:25:90:00:00:02", "00:e0:4c:00:00:99"], "0x5000c50000000002");
    let ids = [first(), second()];
    assert_eq!(ids[0], host_id(1));
    assert_ne!(ids[1], ids[0]);
    assert_eq!([first(), second()], ids, "each is known again");
    let listed = client.get(&format!("{infra_env}/hosts")).expect(200).json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
}
