//! `discovery.ign` as a whole, and the ignition of nodes.

mod served;
mod translated;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_api::live::{LiveConfig, LiveProxy};
use muster_api::node_agent::NodeAgentConfig;
use muster_core::record::{Host, InfraEnv, NodeAgent, Secret};
use muster_core::rules::ignition::node::node;
use muster_core::rules::ignition::{AgentProgram, AgentSettings, discovery, no_agent};
use muster_core::rules::ignition_spec::parse;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::world::{PULL_SECRET, World, infra_env};

pub fn config(infra_env: &InfraEnv) -> Value {
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

pub fn file<'a>(config: &'a Value, path: &str) -> &'a Value {
    let files = config["storage"]["files"].as_array().unwrap();
    files
        .iter()
        .find(|file| file["path"] == path)
        .unwrap_or_else(|| panic!("no file {path}"))
}

pub fn contents(resource: &Value) -> String {
    let source = resource["source"].as_str().unwrap();
    let (_, encoded) = source.split_once(',').unwrap();
    String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap()
}

#[test]
fn the_least_configuration_is_valid_and_carries_the_agents_settings_for_root_only() {
    let config = config(&infra_env());
    assert_eq!(parse(&config.to_string()).map(|config| config.minor), Ok(1));
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

/// A server that sends the same response to every request. Returns its address, and the number of requests.
fn server(answer: Vec<u8>) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            counted.fetch_add(1, Relaxed);
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            // The client hangs up when it has read enough.
            let _ = stream.write_all(&answer);
        }
    });
    (address, requests)
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Runs the script of an image of a service at `scheme://address` once. Returns the program in its place, the output,
/// and the text on the console.
fn fetched(scheme: &str, address: SocketAddr, pinned: &str) -> (Option<Vec<u8>>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let token = Secret::new("t0ken");
    let agent = AgentSettings {
        service_url: &format!("{scheme}://{address}"),
        token: Some(&token),
        ca_pem: "",
        programs: &[AgentProgram {
            machine: std::env::consts::ARCH,
            sha256: pinned.to_owned(),
        }],
        networks: true,
    };
    let config: Value = serde_json::from_str(&discovery(&infra_env(), &agent).unwrap()).unwrap();
    let script = contents(&file(&config, "/usr/local/bin/muster-fetch-agent")["contents"])
        .replace("/usr/local/bin/muster-agent", &path("agent"))
        .replace("/etc/muster/headers", &path("headers"))
        .replace("/run/muster-agent-headers", &path("answered"))
        .replace("/run/issue.d/60-muster-agent.issue", &path("issue.d/agent"))
        .replace("/dev/console", &path("console"))
        // The server of the test has no certificate; the script depends on the URL in its image.
        .replace("https://", "http://");
    std::fs::write(path("headers"), "X-Secret-Key: t0ken\n").unwrap();
    std::fs::write(path("fetch"), script).unwrap();
    // The first pause ends the script.
    std::fs::write(path("sleep"), "#!/bin/sh\nkill $PPID\n").unwrap();
    std::fs::set_permissions(path("sleep"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let ran = Command::new("sh")
        .arg(path("fetch"))
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()))
        .output()
        .unwrap();
    let words = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
    let shown =
        ["console", "issue.d/agent"].map(|file| std::fs::read_to_string(path(file)).unwrap_or_default());
    (std::fs::read(path("agent")).ok(), words, shown.concat())
}

fn answer(status: &str, head: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{head}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[test]
fn an_agent_of_another_digest_is_run_only_when_it_comes_by_tls() {
    let (ours, other) = (b"ours".as_slice(), b"another".as_slice());
    let tag = |body: &[u8]| format!("ETag: \"{}\"\r\n", digest(body));
    let given = |body: &[u8], told: &[u8]| server(answer("200 OK", &tag(told), body)).0;
    for scheme in ["http", "https"] {
        let (program, words, _) = fetched(scheme, given(ours, ours), &digest(ours));
        assert_eq!(program.as_deref(), Some(ours), "{scheme}: {words}");
        let (program, words, _) = fetched(scheme, given(other, ours), &digest(ours));
        assert_eq!(program, None, "{scheme}: {words}");
    }
    let (program, words, _) = fetched("https", given(other, other), &digest(ours));
    assert_eq!(program.as_deref(), Some(other), "{words}");
    assert!(
        words.contains("another agent than when this image was made"),
        "{words}"
    );
    let (program, words, _) = fetched("http", given(other, other), &digest(ours));
    assert_eq!(program, None, "{words}");
    assert!(words.contains("boot a new image"), "{words}");
}

#[test]
fn what_somebody_has_to_do_stands_on_the_console_and_above_the_login() {
    let refusal = json!({"code": "404", "id": 404, "kind": "Error", "reason": no_agent("s390x")}).to_string();
    for (status, body, shown) in [
        (
            "404 Not Found",
            refusal.as_str(),
            "gets no agent (status 404): there is no agent for s390x: Muster's is made for x86_64 and aarch64",
        ),
        (
            "401 Unauthorized",
            r#"{"code":401,"message":"the token \u001b has ended"}"#,
            "gets no agent (status 401): the token ",
        ),
        (
            "404 Not Found",
            "",
            "gets no agent (status 404): look at the log of the service",
        ),
        ("503 Service Unavailable", r#"{"reason":"later"}"#, ""),
    ] {
        let (program, words, console) = fetched(
            "http",
            server(answer(status, "", body.as_bytes())).0,
            &digest(b"x"),
        );
        assert_eq!(program, None);
        assert!(words.contains(shown), "{words}");
        assert!(words.contains("trying again in 1 s"), "{words}");
        match shown {
            "" => assert_eq!(console, ""),
            shown => assert_eq!(console.matches(shown).count(), 2, "{console}"),
        }
    }
    for (machine, todo) in [
        ("aarch64", "--live-image-aarch64"),
        ("ppc64le", "use a machine of one of those"),
    ] {
        assert!(no_agent(machine).contains(todo), "{machine}");
    }
}

#[test]
fn the_token_does_not_follow_a_redirect() {
    let (elsewhere, requests) = server(answer("200 OK", "", b"ours"));
    let location = format!("Location: http://{elsewhere}/agent\r\n");
    let (redirecting, asked) = server(answer("302 Found", &location, b""));
    let (program, words, _) = fetched("https", redirecting, &digest(b"ours"));
    assert_eq!((program, requests.load(Relaxed)), (None, 0), "{words}");
    assert!(words.contains("status 302"), "{words}");
    assert_eq!(asked.load(Relaxed), 1);
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

pub fn agent_of(host: &Host) -> NodeAgentConfig {
    NodeAgentConfig {
        service_url: "https://muster.example.test".into(),
        infra_env_id: host.infra_env_id,
        host_id: host.id,
        token: Some("t0ken".into()),
        ca_certificates: "PEM".into(),
        proxy: LiveProxy::default(),
    }
}

pub fn of_node(world: &World, host: &Host) -> Value {
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
fn bootstrap_data_of_specification_2_becomes_3_with_name_agent_and_override() {
    let mut world = World::new();
    let mut host = world.known_host_of_cluster();
    host.bootstrap_ignition = with_data("2.3.0");
    host.data.node_agent = NodeAgent::Installed;
    host.data.ignition_config_overrides =
        Secret::new(r#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/etc/mine"}]}}"#);
    let config = of_node(&world, &host);
    assert_eq!(config["ignition"]["version"], "3.3.0");
    for path in [
        "/etc/kubeadm.yaml",
        "/etc/hostname",
        "/etc/muster/agent.json",
        "/etc/mine",
    ] {
        assert!(file(&config, path).get("filesystem").is_none(), "{path}");
    }
    assert_eq!(file(&config, "/etc/kubeadm.yaml")["overwrite"], true);
}
