//! Broken and hostile machines and clients are refused clearly, and all others are served as before. Requests that no client library sends
//! are in `tests/scenarios/rest/hostile_requests.rs`.

use muster_api::BASE_PATH;
use muster_tests::hosts::plain::{infra_env, inventory, known_host, register, reply};
use muster_tests::http::{Answer, Requests};
use muster_tests::service::description::{Description, Operation, wrong_values};
use serde_json::{Value, json};

use crate::service::{Client, Service};

/// A service with a hostile machine and a good one.
struct Machines {
    service: Service,
    client: Client,
    infra_env: String,
    hostile: String,
    good: String,
}

impl Machines {
    fn start() -> Self {
        let service = Service::start();
        let client = service.http();
        let infra_env = infra_env(&client);
        let (hostile, good) = (
            register(&client, &infra_env, 666),
            known_host(&client, &infra_env, 1),
        );
        Self {
            service,
            client,
            infra_env,
            hostile,
            good,
        }
    }

    /// Checks that the service is alive, with all its jobs, and serves the good machine.
    #[track_caller]
    fn is_well(&self) {
        self.service.assert_works();
        self.client.request("GET", "/health", None).expect(200);
        let steps = self
            .client
            .get(&format!("{}/instructions", self.good))
            .expect(200)
            .json();
        assert!(!steps["instructions"].as_array().unwrap().is_empty());
        assert_eq!(
            self.client.get(&self.good).expect(200).json()["status"],
            "known-unbound"
        );
    }

    fn post(&self, body: &Value) -> Answer {
        self.client.post(&format!("{}/instructions", self.hostile), body)
    }
}

#[test]
fn inventories_without_measure_are_refused_by_name() {
    let machines = Machines::start();
    let many = |key: &str, count: usize| {
        let mut large = inventory(666);
        let one = large[key][0].take();
        large[key] = Value::Array(vec![one; count]);
        large
    };
    let mut long_text = inventory(666);
    long_text["cpu"]["model_name"] = json!("x".repeat(1 << 20));
    let mut many_flags = inventory(666);
    many_flags["cpu"]["flags"] = json!(vec!["f"; 100_000]);
    for (what, inventory, named) in [
        (
            "15,000 disks",
            json!({"disks": vec![json!({"name": "sda"}); 15_000]}),
            "disks",
        ),
        (
            "5,000 network cards",
            json!({"interfaces": vec![json!({"name": "eth0"}); 5000]}),
            "interfaces",
        ),
        ("2,001 whole disks", many("disks", 2001), "disks"),
        (
            "1,025 whole network cards",
            many("interfaces", 1025),
            "interfaces",
        ),
        ("10,000 routes", many("routes", 10_000), "routes"),
        ("a text of 1 MiB", long_text, "model_name"),
        ("100,000 CPU flags", many_flags, "flags"),
    ] {
        let refused = machines.post(&reply("inventory", &inventory));
        assert_eq!(refused.status, 400, "{what}: {}", refused.text());
        let message = refused.error_message();
        assert!(message.contains(named), "{what}: {message}");
        machines.is_well();
    }
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let in_text =
        json!({"step_type": "inventory", "exit_code": 0, "output": format!("{{\"disks\":{deep}}}")});
    let message = machines.post(&in_text).expect(400).error_message();
    assert!(message.contains("nesting"), "{message}");
    let path = format!("{BASE_PATH}{}/instructions", machines.hostile);
    let message = machines
        .client
        .request("POST", &path, Some(deep.as_bytes()))
        .expect(400)
        .error_message();
    assert!(!message.is_empty() && message.len() < 1000, "{message}");
    let in_field = format!("{{\"step_type\":\"inventory\",\"output\":{deep}}}");
    machines
        .client
        .request("POST", &path, Some(in_field.as_bytes()))
        .expect(400)
        .error_message();
    machines.is_well();

    // As many as fit are accepted: a real machine may be this large.
    let mut large = many("disks", 500);
    large["interfaces"] = many("interfaces", 200)["interfaces"].take();
    for (n, disk) in large["disks"].as_array_mut().unwrap().iter_mut().enumerate() {
        disk["id"] = json!(format!("/dev/disk/by-id/{n}"));
        disk["name"] = json!(format!("sd{n}"));
    }
    machines.post(&reply("inventory", &large)).expect(204);
    assert_eq!(
        machines.client.get(&machines.hostile).expect(200).json()["status"],
        "known-unbound"
    );
    machines.is_well();
}

#[test]
fn replies_for_foreign_hosts_change_nothing() {
    let machines = Machines::start();
    let other = infra_env(&machines.client);
    let before = machines.client.get(&machines.good).expect(200).json();
    // The good machine's id in another InfraEnv.
    let misplaced = machines.good.replace(&machines.infra_env, &other);
    for step in ["inventory", "ntp-synchronizer"] {
        let output = if step == "inventory" {
            inventory(9)
        } else {
            json!({"ntp_sources": []})
        };
        let message = machines
            .client
            .post(&format!("{misplaced}/instructions"), &reply(step, &output))
            .expect(404)
            .error_message();
        assert!(message.contains("not found"), "{message}");
    }
    machines
        .client
        .get(&format!("{misplaced}/instructions"))
        .expect(404);
    assert_eq!(
        machines.client.get(&format!("{other}/hosts")).expect(200).json(),
        json!([])
    );
    let mut after = machines.client.get(&machines.good).expect(200).json();
    after["checked_in_at"] = before["checked_in_at"].clone();
    assert_eq!(after, before);
    machines.is_well();
}

const METHODS: [&str; 11] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get",
];

/// True when an `Allow` header has that method.
fn lists(allow: &str, method: &str) -> bool {
    allow.split(',').any(|one| one.trim() == method)
}

#[test]
fn every_method_on_every_path_is_known_or_405_with_those_that_are() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = known_host(&client, &infra_env, 1);
    for (path, item) in Description::of(&client, &infra_env).paths() {
        let described = |method: &str| {
            let name = if method == "HEAD" {
                "get"
            } else {
                &method.to_lowercase()
            };
            method.chars().all(|c| c.is_ascii_uppercase()) && item.get(name).is_some()
        };
        for method in METHODS.into_iter().filter(|method| !described(method)) {
            let answer = client.request(method, &path, Some(b"{}")).expect(405);
            let allow = answer.header("allow").to_uppercase();
            for known in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                assert_eq!(
                    lists(&allow, known),
                    described(known),
                    "{path}: {known} in {allow:?}"
                );
            }
        }
    }
    client.get(&format!("{host}/instructions")).expect(200);
    service.assert_works();
}

#[test]
fn values_of_every_wrong_type_in_every_field_are_answered() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = known_host(&client, &infra_env, 1);
    let description = Description::of(&client, &infra_env);
    let ask = |what: &str, operation: &Operation<'_>, body: &[u8]| {
        let answer = client.request(&operation.method, &operation.path, Some(body));
        let sent: String = String::from_utf8_lossy(body).chars().take(300).collect();
        assert!(
            (200..500).contains(&answer.status),
            "{what}: {} -> {}: {}\n---- sent ----\n{sent}",
            answer.asked,
            answer.status,
            answer.text()
        );
    };
    let values = wrong_values();
    let mut fields_seen = 0;
    for operation in description.operations() {
        let Some(body) = operation.described.get("requestBody") else {
            continue;
        };
        for value in &values {
            ask("a body", &operation, value.as_bytes());
        }
        for odd in [
            &b"\xef\xbb\xbf{}"[..],
            b"{}\x00",
            b"\xff\xff",
            b"{\"a\":1}{\"a\":2}",
            b"{\"a\":1,\"a\":2}",
            b"{\"\\u0000\":1}",
            b"{,}",
            b"{\"a\"",
            b"//\n{}",
        ] {
            ask("odd JSON", &operation, odd);
        }
        for field in description.fields(body) {
            fields_seen += 1;
            for value in &values {
                let body = format!("{{{}:{value}}}", json!(field));
                ask("a field", &operation, body.as_bytes());
                let twice = format!("{{{0}:{value},{0}:{value}}}", json!(field));
                ask("a field twice", &operation, twice.as_bytes());
            }
        }
    }
    assert!(fields_seen > 20, "{fields_seen} fields");
    client.request("GET", "/health", None).expect(200);
    client.get(&format!("{host}/instructions")).expect(200);
    service.assert_works();
}
