//! `discovery.ign` as a whole, and what nodes boot with.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ignition_config::Config;
use muster_api::live::{LiveConfig, LiveProxy};
use muster_api::node_agent::NodeAgentConfig;
use muster_core::record::{Host, InfraEnv, NodeAgent, Secret};
use muster_core::rules::ignition::node::node;
use muster_core::rules::ignition::{AgentProgram, AgentSettings, discovery};
use serde_json::Value;

use crate::world::{PULL_SECRET, World, infra_env};

fn config(infra_env: &InfraEnv) -> Value {
    let token = Secret::new("t0ken");
    let agent = AgentSettings {
        service_url: "https://muster.example.test/",
        token: Some(&token),
        ca_pem: "CA",
        programs: &[AgentProgram {
            machine: "x86_64",
            sha256: "0a".repeat(32),
        }],
        networks: true,
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
fn the_unit_fetches_the_agent_of_the_machine_with_the_token_in_a_file() {
    let config = config(&infra_env());
    let unit = &config["systemd"]["units"][0];
    assert_eq!(unit["name"], "agent.service");
    let text = unit["contents"].as_str().unwrap();
    assert!(text.contains("ExecStart=/usr/local/bin/muster-agent run --config /etc/muster/config.json\n"));
    let script = contents(&file(&config, "/usr/local/bin/muster-fetch-agent")["contents"]);
    assert!(
        script.contains(&format!("x86_64) pinned={} ;;", "0a".repeat(32))),
        "{script}"
    );
    assert!(
        script.contains("/downloads/agent-program?architecture='\"$machine\""),
        "{script}"
    );
    assert!(!script.contains("t0ken"), "{script}");
    let headers = file(&config, "/etc/muster/headers");
    assert_eq!(headers["mode"], 0o600);
    assert_eq!(contents(&headers["contents"]), "X-Secret-Key: t0ken\n");
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
    let units = config["systemd"]["units"].as_array().unwrap();
    assert!(units.iter().any(|unit| unit["name"] == "x.service"), "{units:?}");
}

#[test]
fn a_damaged_stored_override_is_an_error_and_not_a_panic() {
    let mut infra_env = infra_env();
    infra_env.settings.ignition_config_override = "{".into();
    let agent = AgentSettings {
        service_url: "",
        token: None,
        ca_pem: "",
        programs: &[],
        networks: true,
    };
    assert!(discovery(&infra_env, &agent).is_err());
}

fn agent_of(host: &Host) -> NodeAgentConfig {
    NodeAgentConfig {
        service_url: "https://muster.example.test".into(),
        infra_env_id: host.infra_env_id,
        host_id: host.id,
        token: Some("t0ken".into()),
        ca_certificates: "PEM".into(),
        proxy: LiveProxy::default(),
    }
}

fn of_node(world: &World, host: &Host) -> Value {
    let facts = world.cluster_facts().cluster.unwrap();
    serde_json::from_str(&node(host, facts, &agent_of(host)).unwrap()).unwrap()
}

fn with_data(version: &str) -> Secret {
    Secret::new(format!(
        r#"{{"ignition":{{"version":"{version}"}},"storage":{{"files":[{{"path":"/etc/kubeadm.yaml"}}]}},"systemd":{{"units":[{{"name":"kubeadm.service"}}]}}}}"#
    ))
}

#[test]
fn a_node_gets_a_pointer_or_its_bootstrap_data_with_its_name_and_agent() {
    let mut world = World::new();
    let mut host = world.known_host_of_cluster();
    host.data.ignition_endpoint_token = Secret::new("abc");
    let pointer = of_node(&world, &host);
    assert_eq!(pointer["ignition"]["version"], "3.2.0");
    assert_eq!(
        pointer["ignition"]["config"]["merge"][0]["httpHeaders"],
        serde_json::json!([{"name": "Authorization", "value": "Bearer abc"}])
    );
    assert_eq!(
        file(&pointer, "/etc/hostname")["contents"]["source"],
        "data:,host-1"
    );
    assert!(pointer.get("systemd").is_none(), "no agent is installed");

    host.data.node_agent = NodeAgent::Installed;
    host.bootstrap_ignition = with_data("3.4.0");
    let whole = of_node(&world, &host);
    assert_eq!(
        whole["ignition"],
        serde_json::json!({"version": "3.4.0"}),
        "no pointer"
    );
    file(&whole, "/etc/kubeadm.yaml");
    let settings = file(&whole, "/etc/muster/agent.json");
    assert_eq!(settings["mode"], 0o600);
    let told: NodeAgentConfig = serde_json::from_str(&contents(&settings["contents"])).unwrap();
    assert_eq!(told, agent_of(&host));
    let names: Vec<&Value> = whole["systemd"]["units"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unit| &unit["name"])
        .collect();
    assert_eq!(names, ["kubeadm.service", "muster-node-agent.service"]);
    let unit = whole["systemd"]["units"][1]["contents"].as_str().unwrap();
    assert!(
        unit.contains("ExecStart=/usr/local/bin/muster-agent node --config /etc/muster/agent.json\n"),
        "{unit}"
    );

    host.data.ignition_config_overrides =
        Secret::new(r#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/etc/mine"}]}}"#);
    let own = of_node(&world, &host);
    assert_eq!(own["ignition"]["version"], "3.4.0", "the newer of the two");
    file(&own, "/etc/mine");
}

#[test]
fn bootstrap_data_of_specification_2_is_extended_in_its_own_words() {
    let mut world = World::new();
    let mut host = world.known_host_of_cluster();
    host.bootstrap_ignition = with_data("2.3.0");
    host.data.node_agent = NodeAgent::Installed;
    let config = of_node(&world, &host);
    assert_eq!(config["ignition"]["version"], "2.3.0");
    assert_eq!(file(&config, "/etc/hostname")["filesystem"], "root");
    assert_eq!(file(&config, "/etc/muster/agent.json")["filesystem"], "root");
    host.data.ignition_config_overrides = Secret::new(r#"{"ignition":{"version":"3.1.0"}}"#);
    let facts = world.cluster_facts().cluster.unwrap();
    let error = node(&host, facts, &agent_of(&host)).unwrap_err().to_string();
    assert!(error.contains("take the override away"), "{error}");
}
