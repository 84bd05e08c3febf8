//! Creation and change of InfraEnvs, and the configuration of live images.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_api::event::Severity;
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::{CpuArchitecture, InfraEnvCreateParams, InfraEnvUpdateParams};
use muster_core::lifecycle::infra_env;
use muster_core::lifecycle::infra_env::{events, unapplied_by_live_image, update};
use muster_core::record::{InfraEnv, KubeRef};
use muster_core::rules::input::Invalid;
use muster_core::rules::live_config::{of_agent, of_live_image};
use muster_core::rules::live_network::live_networks;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{PULL_SECRET, infra_env, start};

const CA: &str = include_str!("ca.pem");
const SSH_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHGk0Q0m2mFf1b0yJk7Yd0m9V8zq4WcDkXr3p1b5aGZl a@b";

fn make(mut body: Value) -> Result<InfraEnv, Invalid> {
    let map = body.as_object_mut().unwrap();
    map.entry("name").or_insert(json!("hw"));
    map.entry("pull_secret").or_insert(json!(PULL_SECRET));
    let params: InfraEnvCreateParams = serde_json::from_value(body).unwrap();
    infra_env::create(params, InfraEnvId(Uuid::from_u128(1)), "boot".into(), start())
}

fn edit(body: Value) -> InfraEnvUpdateParams {
    serde_json::from_value(body).unwrap()
}

#[test]
fn good_settings_are_taken() {
    for body in [
        json!({}),
        json!({"ssh_authorized_key": SSH_KEY}),
        json!({"ssh_authorized_key": format!("# team\n{SSH_KEY}\n\nno-pty,command=\"/bin/true\" {SSH_KEY}\n")}),
        json!({"proxy": {"http_proxy": "http://u:p@p.example.test:3128", "https_proxy": "https://p:1", "no_proxy": ".example.test,10.0.0.0/8,fd00::/8,192.0.2.1,host,a.test:8080"}}),
        json!({"proxy": {"no_proxy": "*"}}),
        json!({"proxy": {"http_proxy": ""}}),
        json!({"ntp_sources": "198.51.100.1,ntp.example.test,2001:db8::1"}),
        json!({"additional_ntp_sources": "", "ntp_sources": "a"}),
        json!({"kernel_arguments": [{"operation": "append", "value": "p2=\"q r\""}]}),
        json!({"additional_trust_bundle": format!("\n# ours\n{CA}{CA}\n")}),
        json!({"image_type": "disconnected-iso", "rendezvous_ip": "192.0.2.9"}),
        json!({"openshift_version": "4.20.0-ec.1", "cpu_architecture": "aarch64"}),
        json!({"openshift_version": "4.20"}),
        json!({"openshift_version": "4.19.0-0.okd-2026-01-01"}),
        json!({"openshift_version": ""}),
        json!({"network_discovery_delay_seconds": 0}),
        json!({"pull_secret": "{\"auths\":{\"r\":{}}}"}),
    ] {
        if let Err(error) = make(body.clone()) {
            panic!("{body}: {error}");
        }
    }
}

#[test]
fn bad_settings_are_refused_by_name() {
    for (body, field) in [
        (json!({"name": " "}), "name"),
        (json!({"name": "a\nb"}), "name"),
        (json!({"pull_secret": ""}), "pull_secret"),
        (json!({"pull_secret": "{}"}), "pull_secret"),
        (json!({"pull_secret": "{\"auths\":{}}"}), "pull_secret"),
        (
            json!({"pull_secret": "{\"auths\":{\"r\":{\"auth\":\"!\"}}}"}),
            "pull_secret",
        ),
        (
            json!({"pull_secret": "{\"auths\":{\"r\":{\"auth\":\"bm9jb2xvbg==\"}}}"}),
            "pull_secret",
        ),
        (
            json!({"ssh_authorized_key": "ssh-rsa nonsense"}),
            "ssh_authorized_key",
        ),
        (
            json!({"ssh_authorized_key": "-----BEGIN OPENSSH PRIVATE KEY-----"}),
            "ssh_authorized_key",
        ),
        (
            json!({"proxy": {"http_proxy": "https://p:1"}}),
            "proxy.http_proxy",
        ),
        (json!({"proxy": {"http_proxy": "p:1"}}), "proxy.http_proxy"),
        (
            json!({"proxy": {"https_proxy": "ftp://p:1"}}),
            "proxy.https_proxy",
        ),
        (json!({"proxy": {"no_proxy": "*.example.test"}}), "proxy.no_proxy"),
        (json!({"proxy": {"no_proxy": "a,,b"}}), "proxy.no_proxy"),
        (json!({"ntp_sources": "a b"}), "ntp_sources"),
        (json!({"ntp_sources": "300.1.1.1"}), "ntp_sources"),
        (json!({"additional_ntp_sources": "a,"}), "additional_ntp_sources"),
        (
            json!({"additional_ntp_sources": "a", "ntp_sources": "b"}),
            "ntp_sources",
        ),
        (
            json!({"kernel_arguments": [{"operation": "delete", "value": "a"}]}),
            "kernel_arguments[0].operation",
        ),
        (
            json!({"kernel_arguments": [{"operation": "append", "value": "a"}, {"operation": "append", "value": "a b"}]}),
            "kernel_arguments[1].value",
        ),
        (
            json!({"kernel_arguments": [{"operation": "append", "value": ""}]}),
            "kernel_arguments[0].value",
        ),
        (
            json!({"kernel_arguments": [{"operation": "append", "value": "\"a\nb\""}]}),
            "kernel_arguments[0].value",
        ),
        (
            json!({"ignition_config_override": "{}"}),
            "ignition_config_override",
        ),
        (
            json!({"additional_trust_bundle": "hello"}),
            "additional_trust_bundle",
        ),
        (
            json!({"additional_trust_bundle": "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----"}),
            "additional_trust_bundle",
        ),
        (
            json!({"additional_trust_bundle": format!("{CA}-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----")}),
            "additional_trust_bundle",
        ),
        (
            json!({"additional_trust_bundle": "a".repeat(65_536)}),
            "additional_trust_bundle",
        ),
        (json!({"rendezvous_ip": "192.0.2.9"}), "rendezvous_ip"),
        (
            json!({"image_type": "disconnected-iso", "rendezvous_ip": "x"}),
            "rendezvous_ip",
        ),
        (json!({"openshift_version": "4.20/../x"}), "openshift_version"),
        (json!({"openshift_version": "banana"}), "openshift_version"),
        (json!({"openshift_version": "4"}), "openshift_version"),
        (json!({"openshift_version": "4.x"}), "openshift_version"),
        (json!({"openshift_version": "4.20.1.2"}), "openshift_version"),
        (
            json!({"network_discovery_delay_seconds": -1}),
            "network_discovery_delay_seconds",
        ),
    ] {
        let error = make(body.clone()).expect_err(&body.to_string());
        assert_eq!(error.field, field, "{body}: {error}");
        assert!(error.reason.len() > 10, "{error}");
    }
}

#[test]
fn no_error_repeats_a_secret() {
    for body in [
        json!({"pull_secret": "hunter2"}),
        json!({"pull_secret": "{\"auths\":{\"r\":{\"auth\":\"hunter2\"}}}"}),
        json!({"proxy": {"http_proxy": "https://u:hunter2@p"}}),
    ] {
        let error = make(body).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let made = make(json!({"pull_secret": "{\"auths\":{\"r\":{\"auth\":\"dTpodW50ZXIy\"}}}"})).unwrap();
    assert!(!format!("{made:?}").contains("dTpodW50ZXIy"));
    let with_proxy = make(json!({"proxy": {"http_proxy": "http://u:hunter2@p"}})).unwrap();
    assert!(!format!("{with_proxy:?}").contains("hunter2"));
    let shown = infra_env::view(&made, "", None, "admin");
    assert!(!serde_json::to_string(&shown).unwrap().contains("dTpodW50ZXIy"));
}

fn host(mac: &str, name: &str, yaml: &str) -> Value {
    json!({"network_yaml": yaml, "mac_interface_map": [{"mac_address": mac, "logical_nic_name": name}]})
}

#[test]
fn static_networks_must_say_which_card_is_meant() {
    let ethernet = |name: &str| format!("interfaces:\n- name: {name}\n  type: ethernet\n  state: up\n");
    let good = host("02:00:00:AA:10:01", "nic-a", &ethernet("nic-a"));
    assert!(make(json!({"static_network_config": [good]})).is_ok());
    let json_text = host(
        "02:00:00:AA:10:01",
        "nic-a",
        r#"{"interfaces":[{"name":"nic-a","type":"ethernet"}]}"#,
    );
    assert!(make(json!({"static_network_config": [json_text]})).is_ok());
    let predictable = host("02:00:00:AA:10:01", "nic-a", &ethernet("enp1s0"));
    assert!(make(json!({"static_network_config": [predictable]})).is_ok());
    let bond = |port: &str| {
        let yaml = format!(
            "interfaces:\n- name: bond0\n  type: bond\n  link-aggregation:\n    mode: active-backup\n    port: [{port}]\n"
        );
        host("02:00:00:AA:10:01", "nic-a", &yaml)
    };
    assert!(make(json!({"static_network_config": [bond("nic-a")]})).is_ok());
    for (list, field) in [
        (
            json!([{"network_yaml": "interfaces: []", "mac_interface_map": []}]),
            "static_network_config[0].mac_interface_map",
        ),
        (
            json!([host("nonsense", "a", "interfaces: []")]),
            "static_network_config[0].mac_interface_map",
        ),
        (
            json!([host("02:00:00:AA:10:01", "", "interfaces: []")]),
            "static_network_config[0].mac_interface_map",
        ),
        (
            json!([good, host("02:00:00:aa:10:01", "b", &ethernet("b"))]),
            "static_network_config[1].mac_interface_map",
        ),
        (
            json!([host("02:00:00:AA:10:01", "nic-a", "")]),
            "static_network_config[0].network_yaml",
        ),
        (
            json!([host("02:00:00:AA:10:01", "nic-a", "a: [")]),
            "static_network_config[0].network_yaml",
        ),
        (
            json!([host("02:00:00:AA:10:01", "nic-a", "just text")]),
            "static_network_config[0].network_yaml",
        ),
        (
            json!([host("02:00:00:AA:10:01", "nic-a", "interfaces: 7")]),
            "static_network_config[0].network_yaml",
        ),
        (
            json!([host(
                "02:00:00:AA:10:01",
                "nic-a",
                "interfaces: [{type: ethernet}]"
            )]),
            "static_network_config[0].network_yaml",
        ),
        (
            json!([host("02:00:00:AA:10:01", "nic-a", &ethernet("other"))]),
            "static_network_config[0].network_yaml",
        ),
        (json!([bond("other")]), "static_network_config[0].network_yaml"),
    ] {
        let error = make(json!({"static_network_config": list.clone()})).expect_err(&list.to_string());
        assert_eq!(error.field, field, "{list}: {error}");
    }
}

#[test]
fn the_order_of_a_static_network_changes_nothing() {
    let a = host("02:00:00:AA:10:01", "a", "interfaces: []");
    let b = host("02:00:00:AA:10:02", "b", "interfaces: []");
    let made = make(json!({"static_network_config": [b.clone(), a.clone()]})).unwrap();
    let same = update(&made, edit(json!({"static_network_config": [a, b]})), start()).unwrap();
    assert!(!same.changed);
    let cleared = update(&made, edit(json!({"static_network_config": []})), start()).unwrap();
    assert!(cleared.changed && cleared.infra_env.settings.static_network_config.is_empty());
}

#[test]
fn empty_texts_clear_some_settings_and_keep_others() {
    let made = make(json!({
        "ssh_authorized_key": SSH_KEY, "ntp_sources": "a", "additional_trust_bundle": CA,
        "ignition_config_override": "{\"ignition\":{\"version\":\"3.1.0\"}}",
        "kernel_arguments": [{"operation": "append", "value": "a"}],
        "proxy": {"http_proxy": "http://p", "no_proxy": "x"}
    }))
    .unwrap();
    let changed = update(
        &made,
        edit(json!({
            "ssh_authorized_key": "", "ntp_sources": "", "additional_trust_bundle": "", "pull_secret": "",
            "ignition_config_override": "", "kernel_arguments": [], "proxy": {"http_proxy": ""}
        })),
        start(),
    )
    .unwrap();
    let settings = &changed.infra_env.settings;
    assert_eq!(settings.ssh_authorized_key, made.settings.ssh_authorized_key);
    assert_eq!(
        settings.ignition_config_override,
        made.settings.ignition_config_override
    );
    assert_eq!(settings.pull_secret, made.settings.pull_secret);
    assert_eq!(
        (
            settings.ntp_sources.as_str(),
            settings.additional_trust_bundle.as_str()
        ),
        ("", "")
    );
    assert_eq!(settings.proxy.http_proxy, None);
    assert_eq!(settings.proxy.no_proxy.as_deref(), Some("x"));
    assert_eq!(
        infra_env::view(&changed.infra_env, "", None, "admin").kernel_arguments,
        None
    );
}

#[test]
fn leaving_the_disconnected_type_drops_its_address() {
    let made = make(json!({"image_type": "disconnected-iso", "rendezvous_ip": "192.0.2.9"})).unwrap();
    let left = update(&made, edit(json!({"image_type": "full-iso"})), start()).unwrap();
    assert_eq!(left.infra_env.settings.rendezvous_ip, "");
}

#[test]
fn an_update_that_changes_nothing_writes_nothing_and_one_that_does_moves_the_time() {
    let made = make(json!({"ntp_sources": "a"})).unwrap();
    let later = start() + chrono::Duration::hours(1);
    let same = update(&made, edit(json!({"ntp_sources": "a"})), later).unwrap();
    assert!(!same.changed && same.events.is_empty());
    let other = update(&made, edit(json!({"ntp_sources": "b"})), later).unwrap();
    assert_eq!(other.infra_env.updated_at, later);
    assert_eq!(other.events.len(), 1);
    assert_eq!(other.events[0].name, "image_info_updated");
}

#[test]
fn what_the_live_image_cannot_apply_is_said_once_each_time_it_is_set() {
    let overriding = json!({"ignition_config_override": r#"{"ignition": {"version": "3.1.0"}}"#});
    let made = make(overriding).unwrap();
    let said = unapplied_by_live_image(&made, start());
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].severity, Severity::Warning);
    assert!(
        said[0].message.contains("ignition_config_override"),
        "{}",
        said[0].message
    );
    assert_eq!(events::created_events(&made, start()).len(), 3);
    assert_eq!(events::created_events(&infra_env(), start()).len(), 2);
    let network = |yaml: &str| edit(json!({"static_network_config": [host("02:00:00:AA:10:01", "a", yaml)]}));
    let applied = update(&made, network("interfaces: []"), start()).unwrap();
    assert_eq!(applied.unapplied, []);
    let changed = update(
        &made,
        network("interfaces: []\nroute-rules: {config: [{ip-from: 192.0.2.0/24}]}"),
        start(),
    )
    .unwrap();
    let fields: Vec<&str> = changed.unapplied.iter().map(|setting| setting.field()).collect();
    assert_eq!(fields, ["static_network_config"]);
    assert_eq!(changed.events.len(), 2);
}

#[test]
fn networks_must_fit_into_an_image_and_are_in_its_configuration() {
    let yaml = "interfaces: [{name: a, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}}]";
    let hosts = |count: u32| -> Vec<Value> {
        let mac = |number: u32| format!("02:00:00:00:{:02x}:{:02x}", number >> 8, number & 0xff);
        (0..count).map(|number| host(&mac(number), "a", yaml)).collect()
    };
    let made = make(json!({"static_network_config": hosts(300)})).unwrap();
    let networks = live_networks(&made.settings);
    assert_eq!(networks.len(), 300);
    assert_eq!(networks[299].cards[0].mac, "02:00:00:00:01:2b");
    let refused = update(
        &made,
        edit(json!({"static_network_config": hosts(3000)})),
        start(),
    )
    .unwrap_err();
    assert_eq!(refused.field, "static_network_config");
    assert!(refused.reason.contains("3000 hosts"), "{}", refused.reason);
}

#[test]
fn the_override_must_fit_into_an_image() {
    // Base64 of pseudo-random bytes: compresses to three quarters.
    let mut state = 1_u64;
    let bytes: Vec<u8> = (0..300_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        })
        .collect();
    let noise = STANDARD.encode(bytes);
    let text = format!(
        "{{\"ignition\":{{\"version\":\"3.1.0\"}},\"storage\":{{\"files\":[{{\"path\":\"/x\",\"contents\":{{\"source\":\"data:,{noise}\"}}}}]}}}}"
    );
    let error = make(json!({"ignition_config_override": text}))
        .map(drop)
        .unwrap_err();
    assert_eq!(error.field, "ignition_config_override");
    assert!(error.reason.contains("too large"), "{error}");
}

#[test]
fn the_live_image_is_told_who_to_report_to_and_nothing_secret_but_the_token() {
    let made = make(
        json!({"ntp_sources": "a, b", "additional_trust_bundle": CA, "cpu_architecture": "aarch64",
            "ssh_authorized_key": format!("# team\n{SSH_KEY}\n\n")}),
    )
    .unwrap();
    assert_eq!(made.settings.cpu_architecture, CpuArchitecture::Arm64);
    let live = of_live_image(&made, "http://m:1/", Some("t0ken"), "CA\n");
    assert_eq!(live.ntp_sources, ["a", "b"]);
    assert_eq!(live.service_url, "http://m:1");
    assert!(live.ca_certificates.starts_with("CA\n-----BEGIN"));
    let text = serde_json::to_string(&live).unwrap();
    assert!(!text.contains("auths") && text.contains("t0ken"));
    assert_eq!(live.ssh_authorized_keys, [SSH_KEY]);
    assert_eq!(
        live.created_at,
        Some(start()),
        "stored: each download has the same bytes"
    );
    let elsewhere = of_agent(&made, "http://m:1/", None, "");
    assert!(
        elsewhere.ssh_authorized_keys.is_empty(),
        "CoreOS has them by Ignition"
    );
    assert_eq!(elsewhere.created_at, None, "CoreOS has a clock of its own");
}

#[test]
fn a_custom_resource_does_not_bring_replaced_tokens_back() {
    let mut found = make(json!({})).unwrap();
    found.settings.token_generation = 3;
    let wanted = make(json!({"ssh_authorized_key": SSH_KEY})).unwrap().settings;
    let outcome = infra_env::replace(&found, wanted, None, start()).unwrap();
    assert_eq!(outcome.infra_env.settings.token_generation, 3);
    assert_eq!(outcome.infra_env.settings.ssh_authorized_key, SSH_KEY);
}

#[test]
fn an_offer_to_a_resource_changes_no_image_and_no_resource_makes_it() {
    let made = make(json!({})).unwrap();
    let later = start() + chrono::TimeDelta::seconds(60);
    let offered = infra_env::update(&made, edit(json!({"offered_to": "lab/rack"})), later).unwrap();
    let lab = KubeRef::new("lab", "rack");
    assert_eq!(offered.infra_env.settings.offered_to, Some(lab.clone()));
    assert!(offered.changed && offered.events.is_empty());
    assert_eq!(offered.infra_env.updated_at, made.updated_at);
    let wanted = make(json!({"ssh_authorized_key": SSH_KEY})).unwrap().settings;
    let replaced = infra_env::replace(&offered.infra_env, wanted, None, later).unwrap();
    assert_eq!(replaced.infra_env.settings.offered_to, Some(lab.clone()));
    let withdrawn = infra_env::update(&offered.infra_env, edit(json!({"offered_to": ""})), later).unwrap();
    assert_eq!((withdrawn.changed, withdrawn.infra_env), (true, made.clone()));

    let refused = infra_env::update(&made, edit(json!({"offered_to": "rack"})), later).unwrap_err();
    assert_eq!(refused.field, "offered_to");
    let owned = InfraEnv {
        kube: Some(lab),
        ..made
    };
    let refused = infra_env::update(&owned, edit(json!({"offered_to": "lab/other"})), later).unwrap_err();
    assert!(refused.to_string().contains("lab/rack"), "{refused}");
}
