//! The disk of the data dir is full: reads work, writes fail with the remedy, and the service continues when there is
//! space.

use std::fs;

use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::small_disk::SmallDisk;
use muster_tests::rest::PULL_SECRET;
use serde_json::json;

use muster_tests::database::{Database, host_id, infra_env, inventory, known_host, reply};

#[test]
fn a_full_disk_stops_writes_with_a_message_and_reads_go_on() {
    let mut service = Database::Sqlite.serve();
    service.terminate();
    let disk = SmallDisk::over(&service.data_dir(), 3);
    service.start_again();

    let client = service.http();
    let infra_env = infra_env(&client);
    let host = known_host(&client, &infra_env, 1);
    // The reserve is made after the start of the service.
    let reserve = service.data_dir().join("reserve");
    await_condition("a reserve", LEAST_LIMIT, || {
        reserve.exists().then_some(()).ok_or("there is none".to_owned())
    });
    let others_file = disk.fill();

    // A write of a page that is in the log already may still have space; soon there is none.
    let mut accepted = Vec::new();
    let refused = (2..2000).find_map(|n| {
        let body = json!({"host_id": host_id(n), "discovery_agent_version": "v"});
        let answer = client.post(&format!("{infra_env}/hosts"), &body);
        if answer.status == 201 {
            accepted.push(n);
            return None;
        }
        Some(answer)
    });
    let refused = refused.expect("a full disk takes no 2,000 hosts").expect(503);
    let message = refused.error_message();
    assert!(message.contains("space") && message.contains("free"), "{message}");
    assert!(!refused.header("retry-after").is_empty());
    let body = json!({"name": "one more", "pull_secret": PULL_SECRET});
    client.post("/infra-envs", &body).expect(503).error_message();
    client
        .patch(&host, &json!({"host_name": "other"}))
        .expect(503)
        .error_message();
    client
        .post(
            &format!("{host}/instructions"),
            &reply("inventory", &inventory(77)),
        )
        .expect(503)
        .error_message();
    client.delete(&host).expect(503).error_message();

    // Reads and polls continue; and the state reports the full disk.
    client.request("GET", "/health", None).expect(200);
    let ready = client.request("GET", "/ready", None).expect(200).json();
    let told = ready["database"].as_str().unwrap();
    assert!(told.contains("no space left"), "{ready}");
    let seen = client.get(&host).expect(200).json();
    assert_eq!(
        (&seen["status"], &seen["requested_hostname"]),
        (&json!("known-unbound"), &json!("host-1"))
    );
    client.get(&format!("{host}/instructions")).expect(200);
    let hosts = client.get(&format!("{infra_env}/hosts")).expect(200).json();
    assert_eq!(
        hosts.as_array().unwrap().len(),
        accepted.len() + 1,
        "what was refused is not there"
    );
    client
        .get(&format!("{infra_env}/downloads/files?file_name=discovery.ign"))
        .expect(200);

    // It starts again, too, with the reserved space.
    assert!(reserve.exists());
    service.terminate();
    service.start_again();
    let client = service.http();
    client.get(&host).expect(200);

    // With space it continues without a restart, and no acknowledged write is lost.
    fs::remove_file(&others_file).unwrap();
    client.patch(&host, &json!({"host_name": "other"})).expect(201);
    known_host(&client, &infra_env, 3000);
    service.kill();
    service.start_again();
    let client = service.http();
    let hosts = client.get(&format!("{infra_env}/hosts")).expect(200).json();
    let ids: Vec<&str> = hosts
        .as_array()
        .unwrap()
        .iter()
        .map(|host| host["id"].as_str().unwrap())
        .collect();
    for n in accepted.iter().chain(&[1, 3000]) {
        assert!(
            ids.contains(&host_id(*n).as_str()),
            "host {n} was accepted and is lost"
        );
    }
    assert_eq!(ids.len(), accepted.len() + 2);
    assert_eq!(
        client.get(&host).expect(200).json()["requested_hostname"],
        "other"
    );
    // The service ends before its disk is unmounted.
    drop(service);
    drop(disk);
}
