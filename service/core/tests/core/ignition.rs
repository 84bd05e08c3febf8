//! `discovery.ign` as a whole.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ignition_config::Config;
use muster_api::live::LiveConfig;
use muster_core::record::{InfraEnv, Secret};
use muster_core::rules::ignition::{AgentSettings, discovery};
use serde_json::Value;

use crate::world::{PULL_SECRET, infra_env};

fn config(infra_env: &InfraEnv) -> Value {
    let token = Secret::new("t0ken");
    let agent = AgentSettings {
        service_url: "https://muster.example.test/",
        token: Some(&token),
        ca_pem: "CA",
    };
    serde_json::from_str(&discovery(infra_env, &agent).unwrap()).unwrap()
}

fn file<'a>(config: &'a Value, path: &str) -> &'a Value {
    let files = config["storage"]["files"].as_array().unwrap();
    files
        .iter()
        .find(|file| file["path"] == path)
        .unwrap_or_else(|| panic!("no file {path}"))
}

fn contents(resource: &Value) -> String {
    let source = resource["source"].as_str().unwrap();
    let (_, encoded) = source.split_once(',').unwrap();
    String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap()
}

#[test]
fn the_least_configuration_is_valid_and_carries_the_agents_settings_for_root_only() {
    let config = config(&infra_env());
    let (parsed, warnings) = Config::parse_str(&config.to_string()).unwrap();
    assert!(matches!(parsed, Config::V3_1(_)));
    assert!(warnings.is_empty(), "{warnings:?}");
    let agent = file(&config, "/etc/muster/config.json");
    assert_eq!(agent["mode"], 0o600);
    let live: LiveConfig = serde_json::from_str(&contents(&agent["contents"])).unwrap();
    assert_eq!(live.service_url, "https://muster.example.test");
    assert_eq!(live.token.as_deref(), Some("t0ken"));
    assert_eq!(live.ca_certificates, "CA\n");
    let secret = file(&config, "/root/.docker/config.json");
    assert_eq!(secret["mode"], 0o600);
    assert_eq!(contents(&secret["contents"]), PULL_SECRET);
    assert_eq!(config["passwd"]["users"][0]["passwordHash"], "!");
    assert!(config["ignition"].get("proxy").is_none());
}

#[test]
fn proxy_keys_and_time_sources_reach_the_host() {
    let mut infra_env = infra_env();
    let settings = &mut infra_env.settings;
    settings.proxy.http_proxy = Some("http://p.example.test:1".into());
    settings.proxy.no_proxy = Some("a, b".into());
    settings.ssh_authorized_key = "ssh-ed25519 AAAA a\n\n# old\nssh-ed25519 BBBB b".into();
    settings.additional_ntp_sources = "198.51.100.1, ntp.example.test".into();
    let more = config(&infra_env);
    assert_eq!(more["ignition"]["proxy"]["httpProxy"], "http://p.example.test:1");
    assert_eq!(
        more["ignition"]["proxy"]["noProxy"],
        serde_json::json!(["a", "b"])
    );
    let keys = more["passwd"]["users"][0]["sshAuthorizedKeys"]
        .as_array()
        .unwrap();
    assert_eq!(keys.len(), 2);
    let chrony = file(&more, "/etc/chrony.conf");
    let appended = contents(&chrony["append"][0]);
    assert!(
        appended.contains("server ntp.example.test iburst\n"),
        "{appended}"
    );
    assert!(chrony.get("contents").is_none());
    infra_env.settings.ntp_sources = std::mem::take(&mut infra_env.settings.additional_ntp_sources);
    let instead = config(&infra_env);
    let chrony = contents(&file(&instead, "/etc/chrony.conf")["contents"]);
    assert!(chrony.starts_with("server 198.51.100.1 iburst\n"), "{chrony}");
}

#[test]
fn the_users_override_wins_and_raises_the_version() {
    let mut infra_env = infra_env();
    infra_env.settings.ignition_config_override = r#"{"ignition":{"version":"3.2.0"},
        "storage":{"files":[{"path":"/etc/motd","contents":{"source":"data:,mine"}},{"path":"/tmp/x"}]},
        "systemd":{"units":[{"name":"x.service","enabled":true}]}}"#
        .into();
    let config = config(&infra_env);
    assert_eq!(config["ignition"]["version"], "3.2.0");
    let motd = file(&config, "/etc/motd");
    assert_eq!(motd["contents"]["source"], "data:,mine");
    assert_eq!(motd["mode"], 0o644);
    file(&config, "/tmp/x");
    file(&config, "/etc/muster/config.json");
    assert_eq!(config["systemd"]["units"][0]["name"], "x.service");
}

#[test]
fn a_damaged_stored_override_is_an_error_and_not_a_panic() {
    let mut infra_env = infra_env();
    infra_env.settings.ignition_config_override = "{".into();
    let agent = AgentSettings {
        service_url: "",
        token: None,
        ca_pem: "",
    };
    assert!(discovery(&infra_env, &agent).is_err());
}
