//! Clusters, and hosts without hardware that become known in them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::condition::await_condition;
use crate::hosts::plain::{host_id, inventory, known_host, register, reply};
use crate::http::Requests;

/// Only reached by a service that hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Imports a cluster; returns its id.
#[track_caller]
pub fn import(client: &impl Requests, name: &str) -> String {
    let body = json!({
        "name": name, "api_vip_dnsname": format!("api.{name}.example.test"), "openshift_cluster_id": host_id(77),
    });
    let made = client.post("/clusters/import", &body).expect(201).json();
    made["id"].as_str().expect("an id").to_owned()
}

/// Waits until the response to `path` meets the condition.
#[track_caller]
pub fn wait(client: &impl Requests, path: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    await_condition(what, LIMIT, || {
        let seen = client.get(path).json();
        if fits(&seen) {
            Ok(seen)
        } else {
            Err(seen.to_string())
        }
    })
}

/// Binds the host number `n`, and sends an agent's requests until it is known in the cluster; returns its path below
/// the API.
#[track_caller]
pub fn known_in(client: &impl Requests, infra_env: &str, n: u64, cluster: &str) -> String {
    let host = known_host(client, infra_env, n);
    let bound = client
        .post(&format!("{host}/actions/bind"), &json!({"cluster_id": cluster}))
        .expect(200)
        .json();
    assert_eq!(
        (&bound["status"], &bound["cluster_id"]),
        (&json!("binding"), &json!(cluster))
    );
    register(client, infra_env, n);
    report(client, &host, n);
    host
}

/// Sends reports of the agent of the host number `n` in a cluster that make it known there.
#[track_caller]
pub fn report(client: &impl Requests, host: &str, n: u64) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.expect("the clock is past 1970").as_secs();
    client
        .get(&format!("{host}/instructions?timestamp={now}"))
        .expect(200);
    let cluster = client.get(host).json()["cluster_id"].clone();
    let cluster = client
        .get(&format!("/clusters/{}", cluster.as_str().expect("a cluster")))
        .json();
    let [name, base] = ["name", "base_dns_domain"].map(|member| cluster[member].as_str().expect("a name"));
    let domain = |prefix: &str, answers: &[&str]| {
        json!({
            "domain_name": format!("{prefix}.{name}.{base}"), "ipv4_addresses": answers, "ipv6_addresses": [],
        })
    };
    let resolutions = json!([
        domain("api", &["198.51.100.5"]),
        domain("api-int", &["198.51.100.5"]),
        domain("console-openshift-console.apps", &["198.51.100.6"]),
        domain("validateNoWildcardDNS", &[]),
    ]);
    for (step, output) in [
        ("inventory", inventory(n)),
        (
            "api-vip-connectivity-check",
            json!({"is_success": true, "ignition": "{\"ignition\":{\"version\":\"3.2.0\"}}"}),
        ),
        ("domain-resolution", json!({"resolutions": resolutions})),
        (
            "ntp-synchronizer",
            json!({"ntp_sources": [{"source_name": "198.51.100.1", "source_state": "synced"}]}),
        ),
    ] {
        client
            .post(&format!("{host}/instructions"), &reply(step, &output))
            .expect(204);
    }
}
