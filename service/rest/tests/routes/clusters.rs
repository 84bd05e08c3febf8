//! Clusters over REST. Rules: docs/protocol/rest-behaviour.md#5 and §6.

use muster_tests::hosts::clusters::{import, known_in, wait};
use muster_tests::hosts::plain::{host_id, infra_env, known_host, register};
use muster_tests::http::Requests;
use muster_tests::rest::PULL_SECRET;
use serde_json::json;

use crate::service::Service;

#[test]
fn a_cluster_is_imported_described_and_forgotten() {
    let service = Service::start();
    let client = service.http();
    let id = import(&client, "day2");
    let path = format!("/clusters/{id}");
    let got = client.get(&path).expect(200).json();
    assert_eq!(
        (
            &got["kind"],
            &got["status"],
            &got["name"],
            &got["base_dns_domain"]
        ),
        (
            &json!("AddHostsCluster"),
            &json!("adding-hosts"),
            &json!("day2"),
            &json!("example.test")
        )
    );
    let changes = json!({
        "pull_secret": PULL_SECRET, "http_proxy": "http://proxy.example.test:3128", "machine_networks": [{"cidr": "192.0.2.0/24"}],
        "api_vips": [{"ip": "192.0.2.5"}], "schedulable_masters": false, "hyperthreading": "all",
        "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}], "platform": {"type": "none"},
    });
    let updated = client.patch(&path, &changes).expect(201);
    assert!(!updated.text().contains("auths"), "no secret is answered");
    let updated = updated.json();
    assert_eq!(updated["pull_secret_set"], true);
    assert_eq!(updated["machine_networks"][0]["cidr"], "192.0.2.0/24");
    assert_eq!(updated["api_vips"][0]["ip"], "192.0.2.5");
    assert_eq!(updated["platform"]["type"], "none");
    assert_eq!(updated["cluster_network_host_prefix"], 23);
    assert_eq!(client.get(&path).expect(200).json(), updated);

    let ignored = json!({"host-validation-ids": "[\"ntp-synced\"]"});
    let answer = client.put(&format!("{path}/ignored-validations"), &ignored);
    assert_eq!(answer.expect(201).json(), ignored);
    assert_eq!(
        client
            .get(&format!("{path}/ignored-validations"))
            .expect(200)
            .json(),
        ignored
    );
    for bad in ["[\"connected\"]", "[\"nonsense\"]", "no list"] {
        let body = json!({ "host-validation-ids": bad });
        client
            .put(&format!("{path}/ignored-validations"), &body)
            .expect(400);
    }

    let other = import(&client, "other");
    assert_eq!(
        client
            .get("/clusters")
            .expect(200)
            .json()
            .as_array()
            .unwrap()
            .len(),
        2
    );
    client.delete(&path).expect(204);
    client.delete(&path).expect(404).error_message();
    client.get(&path).expect(404).error_message();
    client.patch(&path, &json!({})).expect(404);
    let left = client.get("/clusters").expect(200).json();
    assert_eq!(
        (left.as_array().unwrap().len(), &left[0]["id"]),
        (1, &json!(other))
    );
    let all = client
        .with("get_unregistered_clusters", "true")
        .get("/clusters")
        .expect(200)
        .json();
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert!(all[0]["deleted_at"].is_string());
    let foreign = client
        .get(&format!("/clusters?openshift_cluster_id={}", host_id(1)))
        .expect(200);
    assert_eq!(foreign.json(), json!([]));
    let events = client.get(&format!("/events?cluster_id={id}")).expect(200).json();
    let names: Vec<&str> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "cluster_registration_succeeded",
            "proxy_settings_changed",
            "cluster_deregistered"
        ]
    );
}

#[test]
fn bad_settings_of_clusters_are_refused_by_name() {
    let service = Service::start();
    let client = service.http();
    let good = json!({"name": "day2", "api_vip_dnsname": "192.0.2.5", "openshift_cluster_id": host_id(1)});
    for (field, value) in [
        ("name", json!("Day 2")),
        ("name", json!("x".repeat(55))),
        ("api_vip_dnsname", json!("two words")),
        ("openshift_version", json!("four\n")),
        ("openshift_cluster_id", json!("nobody")),
    ] {
        let mut body = good.clone();
        body[field] = value;
        let message = client.post("/clusters/import", &body).expect(400).error_message();
        assert!(message.contains(field), "{field}: {message}");
    }
    let path = format!("/clusters/{}", import(&client, "day2"));
    let before = client.get(&path).json();
    for (field, value) in [
        ("pull_secret", json!("{}")),
        ("ssh_public_key", json!("not a key")),
        ("http_proxy", json!("ftp://x")),
        ("ntp_sources", json!("a b")),
        ("machine_networks", json!([{"cidr": "everything"}])),
        ("api_vips", json!([{"ip": "no address"}])),
        ("ignition_endpoint", json!({"url": "nowhere"})),
        ("ignition_endpoint", json!({"ca_certificate": "AAAA"})),
        ("base_dns_domain", json!("two words")),
        ("platform", json!({"type": "moon"})),
        ("colour", json!("red")),
    ] {
        let message = client
            .patch(&path, &json!({ field: value }))
            .expect(400)
            .error_message();
        assert!(message.contains(field), "{field}: {message}");
    }
    assert_eq!(client.get(&path).json(), before);
}

#[test]
fn deleting_a_cluster_unbinds_hosts_and_waits_for_installations() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let cluster = import(&client, "day2");
    let on_its_way = known_host(&client, &infra_env, 1);
    client
        .post(
            &format!("{on_its_way}/actions/bind"),
            &json!({"cluster_id": cluster}),
        )
        .expect(200);
    let host = known_in(&client, &infra_env, 2, &cluster);
    wait(&client, &host, "known", |host| host["status"] == "known");
    client
        .post(&format!("{host}/actions/install"), &json!({}))
        .expect(202);
    let message = client
        .delete(&format!("/clusters/{cluster}"))
        .expect(409)
        .error_message();
    assert!(message.contains("being installed"), "{message}");
    client.get(&format!("/clusters/{cluster}")).expect(200);
    client
        .post(&format!("{host}/actions/reset"), &json!({}))
        .expect(200);
    client.delete(&format!("/clusters/{cluster}")).expect(204);
    assert_eq!(client.get(&on_its_way).json()["status"], "unbinding");
    assert_eq!(
        client.get(&host).json()["status"],
        "unbinding-pending-user-action"
    );
    register(&client, &infra_env, 1);
    assert_eq!(client.get(&on_its_way).json()["status"], "discovering-unbound");
}

#[test]
fn what_only_a_new_cluster_needs_is_refused_with_what_to_do_instead() {
    let service = Service::start();
    let client = service.http();
    let cluster = import(&client, "day2");
    for (method, path, status, hint) in [
        ("POST", "/clusters".to_owned(), 400, "/v2/clusters/import"),
        (
            "POST",
            format!("/clusters/{cluster}/actions/install"),
            409,
            "actions/install for each",
        ),
        (
            "POST",
            format!("/clusters/{cluster}/actions/allow-add-hosts"),
            400,
            "already",
        ),
        (
            "GET",
            format!("/clusters/{cluster}/install-config"),
            400,
            "not installed by this service",
        ),
        (
            "GET",
            format!("/clusters/{cluster}/downloads/files?file_name=install-config.yaml"),
            409,
            "not installed by",
        ),
        (
            "POST",
            format!("/clusters/{}/actions/cancel", host_id(9)),
            404,
            "not found",
        ),
        ("POST", "/clusters/nobody/actions/cancel".to_owned(), 400, "UUID"),
    ] {
        let body: Option<&[u8]> = (method != "GET").then_some(b"{}");
        let answer = client.request(method, &format!("{}{path}", muster_api::BASE_PATH), body);
        let message = answer.expect(status).error_message();
        assert!(message.contains(hint), "{method} {path}: {message}");
    }
    let config = client.get("/clusters/default-config").expect(200).json();
    assert_eq!(config["cluster_network_cidr"], "10.128.0.0/14");
}

#[test]
fn what_user_interfaces_keep_about_a_cluster_is_answered_as_it_was_put() {
    let service = Service::start();
    let client = service.http();
    let path = format!("/clusters/{}/ui-settings", import(&client, "day2"));
    assert_eq!(client.get(&path).expect(200).json(), json!(""));
    for text in ["{\"theme\":\"dark\",\"ü\":[1]}", "plain", ""] {
        assert_eq!(client.put(&path, &json!(text)).expect(200).json(), json!(text));
        assert_eq!(client.get(&path).expect(200).json(), json!(text));
    }
    let kept = json!("kept");
    client.put(&path, &kept).expect(200);
    for bad in [
        json!({"theme": "dark"}),
        json!("x".repeat(70_000)),
        json!("a\u{0}b"),
    ] {
        client.put(&path, &bad).expect(400);
        assert_eq!(client.get(&path).expect(200).json(), kept);
    }
    let nobodys = format!("/clusters/{}/ui-settings", host_id(9));
    client.get(&nobodys).expect(404);
    client.put(&nobodys, &kept).expect(404);
}
