//! The service's Ignition is accepted by Ignition, and both refuse the same: Ignition's own parser checks each.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_tests::artifacts::project_root;
use muster_tests::hosts::clusters::{import, known_in};
use muster_tests::hosts::plain::infra_env;
use muster_tests::http::{Answer, HttpClient};
use muster_tests::install::ignition_parser::IgnitionParser;
use muster_tests::service::{Service, Settings};
use serde_json::{Value, json};

const FOLDER: &str = "service/core/tests/core/ignition_spec";
const NEWEST: &str = r#"{"ignition":{"version":"3.6.0"}}"#;
const SAMPLES: u32 = 400;

fn start() -> Service {
    Settings::for_user_networks()
        .without_kube_api()
        .without_live_image()
        // The newest version reads each specification.
        .argument("--openshift-versions=5.1")
        .start()
}

fn parts() -> String {
    format!("{}/{FOLDER}/parts.jsonl", project_root().display())
}

/// The discovery configuration of an InfraEnv.
fn served(service: &Service, id: &str) -> String {
    let path = format!("/api/assisted-install/v2/infra-envs/{id}/downloads/files?file_name=discovery.ign");
    let (status, text) = service.client().request("GET", &path, None).unwrap();
    assert_eq!(status, 200, "{text}");
    text
}

#[test]
fn the_record_is_what_ignition_says() {
    let recorded = std::fs::read_to_string(project_root().join(FOLDER).join("record.jsonl")).unwrap();
    let said = IgnitionParser::built().record(&parts(), 41, 500);
    let differs = recorded.lines().zip(said.lines()).find(|(old, new)| old != new);
    assert_eq!(
        differs, None,
        "make it anew (service/core/tests/core/ignition_spec.rs)"
    );
    assert_eq!(recorded.len(), said.len());
}

#[test]
fn an_override_is_accepted_and_merged_as_ignition_does_it() {
    let service = start();
    let parser = IgnitionParser::built();
    // A version that reads each specification.
    let newest = json!({"openshift_version": "5.1"});
    let made = service
        .client()
        .create_infra_env_with("overridden", &newest)
        .unwrap();
    let id = made.id.to_string();
    let base = served(&service, &id);
    let samples = parser.samples(&parts(), 43, SAMPLES);
    let pairs: Vec<(&str, Option<&str>)> = samples
        .iter()
        .map(|sample| (base.as_str(), Some(sample.as_str())))
        .collect();
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    for (sample, verdict) in samples.iter().zip(parser.verdicts(&pairs)) {
        let path = format!("/api/assisted-install/v2/infra-envs/{id}");
        let body = json!({"ignition_config_override": sample});
        let (status, text) = service.client().request("PATCH", &path, Some(&body)).unwrap();
        if status == 201 {
            accepted.push((sample, served(&service, &id), verdict));
        } else {
            assert_eq!(status, 400, "{sample}: {text}");
            // If each part alone is valid, the merged result is refused.
            let merged = verdict.merged.as_ref().unwrap_or(&Value::Null).to_string();
            refused.push((sample, text, merged, verdict.errors));
        }
    }
    let pairs: Vec<_> = accepted
        .iter()
        .map(|(_, whole, _)| (whole.as_str(), Some(NEWEST)))
        .collect();
    for ((sample, whole, expected), read) in accepted.iter().zip(parser.verdicts(&pairs)) {
        assert!(read.errors.is_empty(), "{sample}: {:?} in {whole}", read.errors);
        assert_eq!(read.merged, expected.merged, "{sample}");
    }
    let wholes: Vec<_> = refused
        .iter()
        .map(|(_, _, merged, _)| (merged.as_str(), None))
        .collect();
    for ((sample, text, _, errors), whole) in refused.iter().zip(parser.verdicts(&wholes)) {
        let errors = if errors.is_empty() { &whole.errors } else { errors };
        let named = errors
            .iter()
            .any(|path| path == "$" || text.contains(path.as_str()));
        assert!(named, "{sample}: Ignition refuses {errors:?}, and we {text}");
    }
    let (accepted, refused) = (accepted.len(), refused.len());
    println!(
        "{accepted} overrides are accepted and merged as Ignition does it, {refused} are refused by both"
    );
    assert!(accepted > 50 && refused > 50, "{accepted} and {refused}");
}

/// Settings of users, with unusual ones. `index` selects.
fn settings(index: usize) -> Value {
    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO2gtPj7Qm1hmwRMZ0KfbOHXLVWKKBXwDtoq8FtLYS2O";
    let keys = [
        String::new(),
        format!("{KEY} one"),
        format!("{KEY} one\n{KEY} two\n\n  {KEY} one  \n# none"),
        format!("{KEY}\n{KEY}\nfrom=\"192.0.2.1\" {KEY}"),
    ];
    let proxies = [
        json!({}),
        json!({"http_proxy": "http://u:p%40@proxy.example:3128", "no_proxy": "a.example, .b.example,a.example,192.0.2.0/24"}),
        json!({"https_proxy": "https://[2001:db8::1]:3128", "http_proxy": "", "no_proxy": ""}),
        json!({"http_proxy": "http://u:p^w@proxy.example:3128"}),
        json!({"http_proxy": "http://proxy.example:3128", "no_proxy": "*"}),
        json!({"http_proxy": "http://pr%6fxy.example", "https_proxy": "http://100%@proxy.example"}),
    ];
    let times = [
        json!({}),
        json!({"ntp_sources": "a.example,a.example , 192.0.2.1"}),
        json!({"additional_ntp_sources": "192.0.2.1,192.0.2.1"}),
    ];
    let interface = |name: &str, kind: &str| json!({"name": name, "type": kind, "state": "up", "ipv4": {"enabled": true, "dhcp": true}});
    let network = |interfaces: Value| {
        let document = json!({"interfaces": interfaces}).to_string();
        json!({"static_network_config": [
            {"network_yaml": document, "mac_interface_map": [{"mac_address": "52:54:00:00:00:01", "logical_nic_name": "nic"}]},
        ], "image_type": "full-iso"})
    };
    let vlan =
        json!({"name": "nic.7", "type": "vlan", "state": "up", "vlan": {"base-iface": "nic", "id": 7}});
    let odd =
        json!({"name": "ü%[a]#b", "type": "vlan", "state": "up", "vlan": {"base-iface": "nic", "id": 8}});
    let networks = [
        json!({}),
        network(json!([interface("nic", "ethernet")])),
        network(json!([interface("nic", "ethernet"), vlan])),
        network(json!([interface("nic", "ethernet"), odd])),
    ];
    let overrides = [
        json!({}),
        json!({"ignition_config_override": json!({"ignition": {"version": "3.5.0"}, "passwd": {"users": [
            {"name": "core", "sshAuthorizedKeys": [format!("{KEY} one"), "mine"]}]}}).to_string()}),
        json!({"ignition_config_override": json!({"ignition": {"version": "3.0.0"}, "storage": {"links": [
            {"path": "/etc/assisted/network", "target": "/tmp"}]}}).to_string()}),
    ];
    let mut all = json!({
        "ssh_authorized_key": keys[index % 4], "proxy": proxies[index / 4 % 6],
    });
    for more in [
        &times[index / 24 % 3],
        &networks[index / 72 % 4],
        &overrides[index / 288 % 3],
    ] {
        let more = more.as_object().unwrap().clone();
        all.as_object_mut().unwrap().extend(more);
    }
    all
}

#[test]
fn whatever_is_set_ignition_takes_what_is_served() {
    const ALL: usize = 4 * 6 * 3 * 4 * 3;
    let service = start();
    let mut configs = Vec::new();
    let mut refused = 0;
    for index in 0..ALL {
        let wanted = settings(index);
        match service
            .client()
            .create_infra_env_with(&format!("set-{index}"), &wanted)
        {
            Ok(made) => configs.push((wanted, served(&service, &made.id.to_string()))),
            Err(error) => {
                let error = error.to_string();
                let is_refused = error.starts_with("status 400") || error.starts_with("status 409");
                assert!(is_refused, "{wanted}: {error}");
                refused += 1;
            }
        }
    }
    let texts: Vec<(&str, Option<&str>)> = configs.iter().map(|(_, text)| (text.as_str(), None)).collect();
    let verdicts = IgnitionParser::built().verdicts(&texts);
    for ((wanted, text), verdict) in configs.iter().zip(verdicts) {
        assert!(
            verdict.errors.is_empty(),
            "{wanted}: {:?} in {text}",
            verdict.errors
        );
    }
    println!(
        "{} configurations are served and taken, {refused} settings are refused",
        configs.len()
    );
    assert!(configs.len() > ALL / 3, "{} of {ALL}", configs.len());
}

/// Hosts whose clusters have their Ignition at different places.
fn hosts_of_clusters(client: &HttpClient) -> Vec<String> {
    let authority = std::fs::read(project_root().join("service/core/tests/core/ca.pem")).unwrap();
    let authority = STANDARD.encode(authority);
    let endpoints = [
        json!({}),
        json!({"url": "https://ignition.example:9000/a%20b/?c=d"}),
        json!({"url": "http://[2001:db8::1]:8080/ignition/", "ca_certificate": authority}),
        json!({"ca_certificate": authority}),
    ];
    let infra_env = infra_env(client);
    let host = |(n, endpoint): (u64, &Value)| {
        let cluster = import(client, &format!("cluster-{n}"));
        let host = known_in(client, &infra_env, n, &cluster);
        let endpoint = json!({"ignition_endpoint": endpoint});
        client
            .patch(&format!("/clusters/{cluster}"), &endpoint)
            .expect(201);
        host
    };
    (1..).zip(&endpoints).map(host).collect()
}

/// Settings of a host that reach its Ignition, the odd ones too. `index` chooses.
fn settings_of_host(index: usize) -> Value {
    let names = ["node-1", "a.b-c.example", "0"];
    let pools = ["", "infra", "a b/%zz?#ü\"&"];
    let tokens = ["", "t%zz \"ö\\", "abc"];
    let header = |key: &str, value: &str| json!({"key": key, "value": value});
    let headers = [
        json!([]),
        json!([
            header("authorization", "Basic eA=="),
            header("X", ""),
            header("x", "1")
        ]),
        json!([
            header("A", "ü \"%"),
            header("a", "2"),
            header("b", "3"),
            header("B", "3")
        ]),
    ];
    json!({
        "host_name": names[index % 3], "machine_config_pool_name": pools[index / 3 % 3],
        "ignition_endpoint_token": tokens[index / 9 % 3], "ignition_endpoint_http_headers": headers[index / 27 % 3],
    })
}

/// The Ignition of a host without an override and with one, and what became of that.
struct Given {
    over: String,
    plain: String,
    /// The whole, or why it was refused.
    whole: Result<String, String>,
}

fn given(client: &HttpClient, host: &str, over: &str) -> Given {
    let path = format!("{host}/ignition");
    let set = |text: &str| client.patch(&path, &json!({"config": text}));
    let whole = |answer: Answer| answer.expect(200).json()["config"].as_str().unwrap().to_owned();
    set("").expect(201);
    let plain = whole(client.get(&path));
    let mut answer = set(over);
    let mut refusal = 400;
    if answer.status == 201 {
        answer = client.get(&path);
        // Each part alone is valid, and not what they make together.
        refusal = 409;
    }
    let whole = match answer.status {
        200 => Ok(whole(answer)),
        _ => Err(answer.expect(refusal).error_message()),
    };
    Given {
        over: over.to_owned(),
        plain,
        whole,
    }
}

#[test]
fn whatever_is_set_of_a_host_ignition_takes_what_it_is_installed_with() {
    let service = start();
    let client = service.http();
    let parser = IgnitionParser::built();
    let hosts = hosts_of_clusters(&client);
    let samples = parser.samples(&parts(), 47, SAMPLES);
    let all: Vec<Given> = samples
        .iter()
        .enumerate()
        .map(|(index, sample)| {
            let host = &hosts[index % hosts.len()];
            let settings = settings_of_host(index / hosts.len());
            client.patch(host, &settings).expect(201);
            given(&client, host, sample)
        })
        .collect();
    let pairs: Vec<_> = all
        .iter()
        .map(|one| (one.plain.as_str(), Some(one.over.as_str())))
        .collect();
    let plain: Vec<_> = all.iter().map(|one| (one.plain.as_str(), None)).collect();
    for (one, verdict) in all.iter().zip(parser.verdicts(&plain)) {
        assert!(verdict.errors.is_empty(), "{:?} in {}", verdict.errors, one.plain);
    }
    let expected = parser.verdicts(&pairs);
    let merged: Vec<String> = expected
        .iter()
        .map(|verdict| verdict.merged.as_ref().unwrap_or(&Value::Null).to_string())
        .collect();
    // What is served, or what Ignition makes of the parts where we refused them.
    let wholes: Vec<_> = all
        .iter()
        .zip(&merged)
        .map(|(one, merged)| (one.whole.as_ref().unwrap_or(merged).as_str(), Some(NEWEST)))
        .collect();
    let mut accepted = 0;
    for ((one, expected), read) in all.iter().zip(&expected).zip(parser.verdicts(&wholes)) {
        match &one.whole {
            Ok(whole) => {
                accepted += 1;
                assert!(
                    read.errors.is_empty(),
                    "{}: {:?} in {whole}",
                    one.over,
                    read.errors
                );
                // The authorities of an override also vouch for where the cluster's Ignition is.
                if !one.over.contains("certificateAuthorities") {
                    assert_eq!(read.merged, expected.merged, "{}", one.over);
                }
            }
            Err(why) => {
                let errors = if expected.errors.is_empty() {
                    &read.errors
                } else {
                    &expected.errors
                };
                let named = errors
                    .iter()
                    .any(|path| path == "$" || why.contains(path.as_str()));
                assert!(named, "{}: Ignition refuses {errors:?}, and we {why}", one.over);
            }
        }
    }
    let refused = all.len() - accepted;
    println!("{accepted} wholes of hosts are taken, {refused} overrides are refused by both");
    assert!(accepted > 50 && refused > 50, "{accepted} and {refused}");
}
