//! InfraEnvs over REST: every field, good and bad. Rules: docs/protocol/rest-behaviour.md#4.

use muster_api::ids::InfraEnvId;
use muster_tests::hosts::plain::{infra_env, known_host};
use muster_tests::http::Requests;
use muster_tests::rest::{PULL_SECRET, PULL_SECRET_CREDENTIAL};
use serde_json::{Value, json};

use crate::log;
use crate::service::Service;

const SSH_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHGk0Q0m2mFf1b0yJk7Yd0m9V8zq4WcDkXr3p1b5aGZl a@b";

/// Everything that can be set when an InfraEnv is made.
fn everything() -> Value {
    json!({
        "name": "everything", "pull_secret": PULL_SECRET, "ssh_authorized_key": SSH_KEY,
        "additional_ntp_sources": "198.51.100.1,ntp.example.test", "cpu_architecture": "x86_64",
        "openshift_version": "4.20", "image_type": "minimal-iso",
        "proxy": {"http_proxy": "http://proxy.example.test:3128", "https_proxy": "https://proxy.example.test:3129",
                  "no_proxy": "example.test,.lab.test,198.51.100.0/24"},
        "kernel_arguments": [{"operation": "append", "value": "p1"}, {"operation": "append", "value": "p2=\"a b\""}],
        "ignition_config_override": r#"{"ignition":{"version":"3.1.0"}}"#,
        "network_discovery_delay_seconds": 5,
    })
}

#[test]
fn an_infra_env_is_created_listed_read_changed_and_deleted() {
    let service = Service::start();
    let client = service.http();
    assert_eq!(client.get("/infra-envs").expect(200).json(), json!([]));

    let made = client.post("/infra-envs", &everything()).expect(201).json();
    let id = made["id"].as_str().unwrap().to_owned();
    let path = format!("/infra-envs/{id}");
    assert_eq!(made["kind"], "InfraEnv");
    assert_eq!(made["href"], format!("/api/assisted-install/v2{path}"));
    assert_eq!(made["type"], "minimal-iso");
    assert_eq!(made["openshift_version"], "4.20");
    assert_eq!(made["pull_secret_set"], true);
    assert_eq!(
        made["kernel_arguments"],
        r#"[{"operation":"append","value":"p1"},{"operation":"append","value":"p2=\"a b\""}]"#
    );
    assert_eq!(
        made["proxy"]["no_proxy"],
        "example.test,.lab.test,198.51.100.0/24"
    );
    assert!(
        !made.to_string().contains(PULL_SECRET_CREDENTIAL),
        "the answer holds the pull secret: {made}"
    );
    let iso = made["download_url"].as_str().unwrap();
    assert!(iso.ends_with(".iso") && iso.len() < 128, "{iso}");
    assert_eq!(client.get(&path).expect(200).json(), made);

    // Discovery pulls nothing, so no pull secret is required.
    let bare = client
        .post("/infra-envs", &json!({"name": "bare"}))
        .expect(201)
        .json();
    assert_eq!(bare["pull_secret_set"], false);
    let bare = format!("/infra-envs/{}", bare["id"].as_str().unwrap());
    client.delete(&bare).expect(204);
    assert_eq!(client.get("/infra-envs").expect(200).json(), json!([made]));

    let changed = client
        .patch(
            &path,
            &json!({"image_type": "full-iso", "ntp_sources": "", "additional_ntp_sources": "203.0.113.9"}),
        )
        .expect(201)
        .json();
    assert_eq!(changed["type"], "full-iso");
    assert_eq!(changed["additional_ntp_sources"], "203.0.113.9");
    assert_eq!(changed["name"], "everything");
    assert_ne!(changed["updated_at"], made["updated_at"]);
    assert_eq!(client.get(&path).expect(200).json(), changed);
    let again = client
        .patch(&path, &json!({"image_type": "full-iso"}))
        .expect(201)
        .json();
    assert_eq!(
        again, changed,
        "a change that changes nothing leaves everything as it is"
    );

    let cluster = "11111111-2222-4333-8444-555555555555";
    let of_a_cluster = client.get(&format!("/infra-envs?cluster_id={cluster}"));
    assert_eq!(of_a_cluster.expect(200).json(), json!([]));
    let of_an_owner = client.get("/infra-envs?owner=admin").expect(200).json();
    assert_eq!(of_an_owner.as_array().unwrap().len(), 1);
    assert_eq!(
        client.get("/infra-envs?owner=nobody").expect(200).json(),
        json!([])
    );

    // Clients send `{}` with a DELETE (docs/protocol/rest-behaviour.md#1).
    let body = client.request("DELETE", &format!("/api/assisted-install/v2{path}"), Some(b"{}"));
    assert!(body.expect(204).body.is_empty());
    assert_eq!(client.get("/infra-envs").expect(200).json(), json!([]));
    for gone in [
        client.get(&path),
        client.patch(&path, &json!({})),
        client.delete(&path),
        client.get(&format!("{path}/hosts")),
        client.get(&format!("{path}/downloads/image-url")),
    ] {
        let gone = gone.expect(404);
        let message = gone.error_message();
        assert!(
            message.contains(&id) && message.contains("not found"),
            "{}: {message}",
            gone.asked
        );
        assert_eq!(gone.json()["code"], "404", "a handler's 404 has the code as text");
    }
}

/// A field, an unacceptable value, and the name of the field in the message.
type BadSetting = (&'static str, Value, &'static str);

/// Settings that are bad on create and on update.
fn bad_settings() -> Vec<BadSetting> {
    let mut all = bad_accesses();
    all.extend(bad_boot_settings());
    all.extend(bad_networks_and_others());
    all
}

fn bad_accesses() -> Vec<BadSetting> {
    vec![
        ("pull_secret", json!("no JSON"), "pull_secret"),
        ("pull_secret", json!("{}"), "pull_secret"),
        ("pull_secret", json!(r#"{"auths":{}}"#), "pull_secret"),
        ("pull_secret", json!(r#"{"auths":[]}"#), "pull_secret"),
        (
            "pull_secret",
            json!(r#"{"auths":{"r":{"auth":"%%%"}}}"#),
            "pull_secret",
        ),
        (
            "pull_secret",
            json!(r#"{"auths":{"r":{"auth":"dXNlcg=="}}}"#),
            "pull_secret",
        ),
        ("pull_secret", json!({"auths": {}}), "pull_secret"),
        (
            "ssh_authorized_key",
            json!("ssh-rsa nonsense"),
            "ssh_authorized_key",
        ),
        (
            "ssh_authorized_key",
            json!(format!("{SSH_KEY}\nand more")),
            "ssh_authorized_key",
        ),
        ("ssh_authorized_key", json!(7), "ssh_authorized_key"),
        ("proxy", json!({"http_proxy": "https://proxy.test"}), "http_proxy"),
        ("proxy", json!({"http_proxy": "proxy.test:3128"}), "http_proxy"),
        ("proxy", json!({"http_proxy": "http://"}), "http_proxy"),
        ("proxy", json!({"http_proxy": "http://a b"}), "http_proxy"),
        ("proxy", json!({"https_proxy": "ftp://proxy.test"}), "https_proxy"),
        ("proxy", json!({"no_proxy": "a,,b"}), "no_proxy"),
        ("proxy", json!({"no_proxy": "exa mple"}), "no_proxy"),
        ("proxy", json!({"no_proxy": "*,a.test"}), "no_proxy"),
        ("proxy", json!({"socks": "x"}), "socks"),
        ("proxy", json!("http://proxy.test"), "proxy"),
        ("additional_ntp_sources", json!("a b"), "additional_ntp_sources"),
        (
            "additional_ntp_sources",
            json!("ntp.test,,ntp2.test"),
            "additional_ntp_sources",
        ),
        (
            "additional_ntp_sources",
            json!("999.1.2.3"),
            "additional_ntp_sources",
        ),
        (
            "additional_ntp_sources",
            json!("<script>"),
            "additional_ntp_sources",
        ),
        ("ntp_sources", json!("-bad-.test"), "ntp_sources"),
        ("ntp_sources", json!(["ntp.test"]), "ntp_sources"),
    ]
}

fn bad_boot_settings() -> Vec<BadSetting> {
    let key = |text: &str| json!([{"operation": "append", "value": text}]);
    // A text that compresses badly: 256 KiB is the limit of the archive made from it.
    let long: String = (0..22_000)
        .map(|_| InfraEnvId::random().0.simple().to_string())
        .collect();
    let large_override = json!({"ignition": {"version": "3.1.0"},
        "storage": {"files": [{"path": "/a", "contents": {"source": format!("data:,{long}")}}]}});
    vec![
        (
            "kernel_arguments",
            json!([{"operation": "delete", "value": "p"}]),
            "kernel_arguments[0].operation",
        ),
        (
            "kernel_arguments",
            json!([{"operation": "replace", "value": "p"}]),
            "kernel_arguments[0].operation",
        ),
        (
            "kernel_arguments",
            json!([{"operation": "invent", "value": "p"}]),
            "kernel_arguments[0].operation",
        ),
        (
            "kernel_arguments",
            json!([{"operation": "append"}]),
            "kernel_arguments[0]",
        ),
        ("kernel_arguments", key(""), "kernel_arguments[0].value"),
        ("kernel_arguments", key("two words"), "kernel_arguments[0].value"),
        ("kernel_arguments", key("p=\"open"), "kernel_arguments[0].value"),
        (
            "kernel_arguments",
            key("p\ninit=/bin/sh"),
            "kernel_arguments[0].value",
        ),
        ("kernel_arguments", json!("p"), "kernel_arguments"),
        (
            "ignition_config_override",
            json!("no JSON"),
            "ignition_config_override",
        ),
        (
            "ignition_config_override",
            json!("{}"),
            "ignition_config_override",
        ),
        (
            "ignition_config_override",
            json!(r#"{"ignition":{"version":"2.2.0"}}"#),
            "ignition_config_override",
        ),
        (
            "ignition_config_override",
            json!(large_override.to_string()),
            "ignition_config_override",
        ),
        (
            "ignition_config_override",
            json!({"ignition": {}}),
            "ignition_config_override",
        ),
    ]
}

fn bad_networks_and_others() -> Vec<BadSetting> {
    let network = |yaml: &str, mac: &str, nic: &str| json!([{"network_yaml": yaml, "mac_interface_map": [{"mac_address": mac, "logical_nic_name": nic}]}]);
    let mac = "02:00:00:00:00:01";
    vec![
        (
            "static_network_config",
            json!([{"network_yaml": "a: b"}]),
            "static_network_config[0].mac_interface_map",
        ),
        (
            "static_network_config",
            network("a: b", "nonsense", "eth0"),
            "static_network_config[0].mac_interface_map",
        ),
        (
            "static_network_config",
            network("a: b", mac, ""),
            "static_network_config[0].mac_interface_map",
        ),
        (
            "static_network_config",
            network("a: [", mac, "eth0"),
            "static_network_config[0].network_yaml",
        ),
        (
            "static_network_config",
            network("", mac, "eth0"),
            "static_network_config[0].network_yaml",
        ),
        (
            "static_network_config",
            network("- a", mac, "eth0"),
            "static_network_config[0].network_yaml",
        ),
        (
            "static_network_config",
            network("interfaces: 7", mac, "eth0"),
            "static_network_config[0].network_yaml",
        ),
        (
            "static_network_config",
            network("interfaces:\n- name: other\n  type: ethernet\n", mac, "eth0"),
            "static_network_config[0].network_yaml",
        ),
        (
            "static_network_config",
            json!([{"network_yaml": "a: b", "mac_interface_map": [
                {"mac_address": mac, "logical_nic_name": "eth0"}, {"mac_address": mac, "logical_nic_name": "eth1"}]}]),
            "static_network_config[0].mac_interface_map",
        ),
        ("static_network_config", json!("yaml"), "static_network_config"),
        (
            "additional_trust_bundle",
            json!("no PEM"),
            "additional_trust_bundle",
        ),
        (
            "additional_trust_bundle",
            json!("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            "additional_trust_bundle",
        ),
        (
            "additional_trust_bundle",
            json!("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
            "additional_trust_bundle",
        ),
        (
            "additional_trust_bundle",
            json!("x".repeat(70_000)),
            "additional_trust_bundle",
        ),
        ("openshift_version", json!("4.20/../.."), "openshift_version"),
        ("openshift_version", json!("4".repeat(65)), "openshift_version"),
        ("openshift_version", json!(4.2), "openshift_version"),
        ("image_type", json!("floppy"), "image_type"),
        ("image_type", json!(1), "image_type"),
        ("rendezvous_ip", json!("192.0.2.1"), "rendezvous_ip"),
        ("rendezvous_ip", json!("no address"), "rendezvous_ip"),
        (
            "network_discovery_delay_seconds",
            json!(-1),
            "network_discovery_delay_seconds",
        ),
        (
            "network_discovery_delay_seconds",
            json!("soon"),
            "network_discovery_delay_seconds",
        ),
        ("colour", json!("red"), "colour"),
    ]
}

/// Bad settings that only a new InfraEnv has.
fn bad_for_create_only() -> Vec<BadSetting> {
    vec![
        ("name", json!(""), "name"),
        ("name", json!("  "), "name"),
        ("name", json!("two\nlines"), "name"),
        ("name", json!("x".repeat(254)), "name"),
        ("name", Value::Null, "name"),
        ("name", json!(["list"]), "name"),
        ("pull_secret", json!(""), "pull_secret"),
        ("pull_secret", Value::Null, "pull_secret"),
        ("cpu_architecture", json!("amd64"), "cpu_architecture"),
        ("cpu_architecture", json!("z80"), "cpu_architecture"),
        ("cluster_id", json!("no id"), "cluster_id"),
    ]
}

/// The beginning of a value: one of them has 700 KB.
fn shown(value: &Value) -> String {
    value.to_string().chars().take(200).collect()
}

#[test]
fn every_bad_setting_is_refused_by_name_and_changes_nothing() {
    let service = Service::start();
    let client = service.http();
    let path = infra_env(&client);
    let before = client.get("/infra-envs").expect(200).json();

    for (field, value, named) in bad_settings().into_iter().chain(bad_for_create_only()) {
        let mut body = json!({"name": "bad", "pull_secret": PULL_SECRET});
        body[field] = value;
        let refused = client.post("/infra-envs", &body);
        let value = shown(&body[field]);
        assert_eq!(refused.status, 400, "create with {field} = {value}");
        let message = refused.error_message();
        assert!(
            message.contains(named),
            "create with {field} = {value}: {message}"
        );
    }
    for (field, value, named) in bad_settings() {
        let refused = client.patch(&path, &json!({field: value}));
        let value = shown(&value);
        assert_eq!(refused.status, 400, "change of {field} to {value}");
        let message = refused.error_message();
        assert!(message.contains(named), "change of {field} to {value}: {message}");
    }
    // Fields that are fixed at creation are not in an update.
    for field in ["name", "cluster_id", "cpu_architecture"] {
        let message = client
            .patch(&path, &json!({field: "x"}))
            .expect(400)
            .error_message();
        assert!(message.contains(field), "{message}");
    }
    let nameless = json!({"pull_secret": PULL_SECRET});
    let message = client.post("/infra-envs", &nameless).expect(400).error_message();
    assert!(message.contains("name"), "{message}");
    let both = json!({"ntp_sources": "a.test", "additional_ntp_sources": "b.test"});
    let message = client.patch(&path, &both).expect(400).error_message();
    assert!(
        message.contains("ntp_sources") && message.contains("additional_ntp_sources"),
        "{message}"
    );
    let mut body = json!({"name": "bad", "pull_secret": PULL_SECRET});
    body["cluster_id"] = json!("11111111-2222-4333-8444-555555555555");
    let message = client.post("/infra-envs", &body).expect(404).error_message();
    assert!(
        message.contains("11111111-2222-4333-8444-555555555555"),
        "{message}"
    );

    // One bad setting among good ones: none of them is applied.
    let mixed = json!({"image_type": "minimal-iso", "ntp_sources": "not a name"});
    client.patch(&path, &mixed).expect(400);
    assert_eq!(client.get("/infra-envs").expect(200).json(), before);
    assert!(
        !log::text().contains(PULL_SECRET_CREDENTIAL),
        "the log holds a pull secret"
    );
}

#[test]
fn settings_left_out_stay_and_empty_ones_clear() {
    let service = Service::start();
    let client = service.http();
    let made = client.post("/infra-envs", &everything()).expect(201).json();
    let path = format!("/infra-envs/{}", made["id"].as_str().unwrap());

    // These cannot be cleared: an empty value keeps them.
    let kept = json!({"pull_secret": "", "ssh_authorized_key": "", "ignition_config_override": "", "kernel_arguments": null});
    assert_eq!(client.patch(&path, &kept).expect(201).json(), made);

    let cleared = json!({
        "proxy": {"http_proxy": "", "https_proxy": "", "no_proxy": ""}, "additional_ntp_sources": "",
        "kernel_arguments": [], "static_network_config": [], "additional_trust_bundle": "",
    });
    let after = client.patch(&path, &cleared).expect(201).json();
    assert_eq!(after["proxy"], json!({}));
    assert!(after.get("additional_ntp_sources").is_none(), "{after}");
    assert!(after.get("kernel_arguments").is_none(), "{after}");
    assert!(after.get("static_network_config").is_none(), "{after}");
    assert_eq!(after["ssh_authorized_key"], made["ssh_authorized_key"]);
    assert_eq!(
        after["ignition_config_override"],
        made["ignition_config_override"]
    );
}

#[test]
fn what_no_image_does_is_refused_with_the_reason() {
    let service = Service::start();
    let client = service.http();
    let minimal = json!({"name": "minimal", "pull_secret": PULL_SECRET});
    let with = |field: &str, value: Value| {
        let mut body = minimal.clone();
        body[field] = value;
        body
    };
    for architecture in ["arm64", "aarch64", "ppc64le", "s390x"] {
        let message = client
            .post("/infra-envs", &with("cpu_architecture", json!(architecture)))
            .expect(400)
            .error_message();
        assert!(message.contains("no discovery image"), "{message}");
    }
    let disconnected = with("image_type", json!("disconnected-iso"));
    let message = client
        .post("/infra-envs", &disconnected)
        .expect(400)
        .error_message();
    assert!(message.contains("image_type"), "{message}");
    let network = |yaml: &str| {
        json!([{"network_yaml": yaml,
            "mac_interface_map": [{"mac_address": "02:00:00:00:00:01", "logical_nic_name": "eth0"}]}])
    };
    let unapplied = network("interfaces:\n- name: eth0\n  type: ethernet\n  ethtool: {pause: {rx: true}}\n");
    let static_network = with("static_network_config", unapplied.clone());
    let message = client
        .post("/infra-envs", &static_network)
        .expect(409)
        .error_message();
    assert!(
        message.contains("cannot apply the network [0]") && message.contains("ethtool"),
        "{message}"
    );
    assert_eq!(client.get("/infra-envs").expect(200).json(), json!([]));

    let path = infra_env(&client);
    let before = client.get(&path).expect(200).json();
    client
        .patch(&path, &json!({"static_network_config": unapplied}))
        .expect(409)
        .error_message();
    client
        .patch(&path, &json!({"image_type": "disconnected-iso"}))
        .expect(400)
        .error_message();
    assert_eq!(client.get(&path).expect(200).json(), before);
    let file = || client.get(&format!("{path}/downloads/files?file_name=static-network-config"));
    assert!(file().expect(200).body.is_empty());

    let good = network("interfaces:\n- name: eth0\n  type: ethernet\n");
    client
        .patch(&path, &json!({"static_network_config": good}))
        .expect(201);
    let archive = file().expect(200);
    assert!(
        archive
            .header("content-disposition")
            .ends_with("-static-network-config.tar\"")
    );
    let paths = [
        "/etc/assisted/network/host0/mac_interface.ini",
        "/etc/assisted/network/host0/eth0.nmconnection",
    ];
    for path in paths {
        assert!(archive.text().contains(path), "no {path} in {:?}", archive.text());
    }
}

#[test]
fn an_infra_env_with_hosts_stays() {
    let service = Service::start();
    let client = service.http();
    let path = infra_env(&client);
    let host = known_host(&client, &path, 1);
    let message = client.delete(&path).expect(400).error_message();
    assert!(message.contains("host"), "{message}");
    client.get(&path).expect(200);
    client.delete(&host).expect(204);
    client.delete(&path).expect(204);
    // The machine still polls although its InfraEnv is gone.
    client.get(&format!("{host}/instructions")).expect(404);
}
