//! Writes the discovery configuration of an InfraEnv.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use thiserror::Error;

use super::agent_unit::{self, AgentProgram};
use super::network_files::{GuestFile, UNIT as NETWORK_UNIT, network_files, network_unit};
use super::overrides::sentence;
use crate::json::to_json;
use crate::record::{InfraEnv, Secret};
use crate::rules::ignition_spec::{self as spec, Config};
use crate::rules::input::{comma_list, key_lines};
use crate::rules::live_config::of_agent;

/// Path of the agent's configuration: the same document that the Muster live image holds.
pub const CONFIG_PATH: &str = "/etc/muster/config.json";

/// Disks have names of their own, whichever path leads to them.
const MULTIPATH: &str = "defaults {\n  user_friendly_names yes\n  find_multipaths yes\n  enable_foreign \"^$\"\n}\nblacklist_exceptions {\n  property \"(SCSI_IDENT_|ID_WWN)\"\n}\n";

/// The same DHCPv6 identity after each boot.
const IPV6: &str = "[connection]\nipv6.dhcp-iaid=mac\nipv6.dhcp-duid=ll\n";

/// Settings of the agent in addition to those of the InfraEnv.
#[derive(Debug, Clone)]
pub struct AgentSettings<'a> {
    /// Base URL of the service, without `/api/assisted-install`.
    pub service_url: &'a str,
    /// The agent's token; `None` if the service requires none.
    pub token: Option<&'a Secret>,
    /// PEM of the service's own CA; empty when it has none.
    pub ca_pem: &'a str,
    /// The service's agents. Others are accepted, too, if the service sends them by TLS.
    pub programs: &'a [AgentProgram],
    /// Whether the configuration carries static networks; else something in the initramfs does.
    pub networks: bool,
}

/// The error of a configuration. Detected when the override is set, so it occurs later only with damaged data.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DiscoveryError {
    /// The stored override is damaged.
    #[error("the stored ignition_config_override cannot be merged: {0}")]
    Override(String),
    /// Each alone is fine, but not together.
    #[error("the discovery configuration with the override merged is not what Ignition takes: {0}")]
    Merged(String),
}

/// Ignition (3.1.0) with the agent's unit and settings, with the InfraEnv's override merged; of the override's specification when that is
/// newer. JSON text.
///
/// # Errors
/// When the override cannot be merged, or Ignition would refuse the result.
pub fn discovery(infra_env: &InfraEnv, agent: &AgentSettings<'_>) -> Result<String, DiscoveryError> {
    let config = Config {
        minor: 1,
        value: base(infra_env, agent),
    };
    let overriding = &infra_env.settings.ignition_config_override;
    if overriding.is_empty() {
        return Ok(config.value.to_string());
    }
    let child = super::check_override(overriding).map_err(DiscoveryError::Override)?;
    let merged = config.with(child);
    let problems = spec::problems(&merged);
    if problems.is_empty() {
        Ok(merged.value.to_string())
    } else {
        Err(DiscoveryError::Merged(sentence(&problems, Some(&merged.value))))
    }
}

fn base(infra_env: &InfraEnv, agent: &AgentSettings<'_>) -> Value {
    let settings = &infra_env.settings;
    let keys: Vec<&str> = key_lines(&settings.ssh_authorized_key)
        .map(|(_, key)| key)
        .collect();
    let mut ignition = json!({"version": "3.1.0"});
    if let Some(proxy) = proxy(infra_env) {
        ignition["proxy"] = proxy;
    }
    // Their documents take time to read.
    let networks = if agent.networks {
        network_files(settings)
    } else {
        Vec::new()
    };
    json!({
        "ignition": ignition,
        "passwd": {"users": [{
            "name": "core",
            "passwordHash": "!",
            "groups": ["sudo"],
            "sshAuthorizedKeys": keys,
        }]},
        "storage": {"files": files(infra_env, agent, &networks)},
        "systemd": {"units": units(&networks)},
    })
}

fn proxy(infra_env: &InfraEnv) -> Option<Value> {
    let proxy = &infra_env.settings.proxy;
    let mut parts = serde_json::Map::new();
    let set = |part: &Option<String>| part.clone().filter(|text| !text.is_empty());
    if let Some(url) = set(&proxy.http_proxy) {
        parts.insert("httpProxy".into(), json!(url));
    }
    if let Some(url) = set(&proxy.https_proxy) {
        parts.insert("httpsProxy".into(), json!(url));
    }
    if parts.is_empty() {
        return None;
    }
    if let Some(list) = set(&proxy.no_proxy) {
        let names: Vec<&str> = comma_list(&list).collect();
        parts.insert("noProxy".into(), json!(names));
    }
    Some(Value::Object(parts))
}

fn units(networks: &[GuestFile]) -> Vec<Value> {
    let mut units = vec![
        agent_unit::unit(),
        // LUNs of a SAN appear as one disk each.
        json!({"name": "multipathd.service", "enabled": true}),
    ];
    if !networks.is_empty() {
        units.push(json!({"name": NETWORK_UNIT, "enabled": true, "contents": network_unit(false)}));
    }
    units
}

fn files(infra_env: &InfraEnv, agent: &AgentSettings<'_>, networks: &[GuestFile]) -> Vec<Value> {
    let settings = &infra_env.settings;
    let live = of_agent(
        infra_env,
        agent.service_url,
        agent.token.map(Secret::reveal),
        agent.ca_pem,
    );
    let live = to_json(&live);
    let mut files = vec![
        file(CONFIG_PATH, 0o600, &live),
        file(
            "/etc/motd",
            0o644,
            "This host is being discovered by Muster. Its agent writes to the journal: journalctl -u agent\n",
        ),
        file("/etc/multipath.conf", 0o644, MULTIPATH),
        file("/etc/NetworkManager/conf.d/01-ipv6.conf", 0o644, IPV6),
    ];
    files.extend(agent_unit::files(infra_env, agent));
    if !settings.pull_secret.is_empty() {
        files.push(file(
            "/root/.docker/config.json",
            0o600,
            settings.pull_secret.reveal(),
        ));
    }
    if !settings.additional_trust_bundle.is_empty() {
        files.push(file(
            "/etc/pki/ca-trust/source/anchors/assisted-infraenv-additional-trust-bundle.pem",
            0o644,
            &format!("{}\n", settings.additional_trust_bundle),
        ));
    }
    files.extend(chrony(infra_env));
    files.extend(
        networks
            .iter()
            .map(|one| file(&one.path, one.permissions, &one.text)),
    );
    files
}

/// `ntp_sources` replace the image's time configuration, additional ones are appended to it (docs/protocol/discovery-ignition.md#6).
/// `makestep 1.0 -1` lets a late first answer still step the clock.
fn chrony(infra_env: &InfraEnv) -> Option<Value> {
    const PATH: &str = "/etc/chrony.conf";
    let servers: String = comma_list(infra_env.ntp_source_list())
        .map(|source| format!("server {source} iburst\n"))
        .collect();
    if servers.is_empty() {
        return None;
    }
    if infra_env.settings.ntp_sources.is_empty() {
        let text = format!("\n{servers}makestep 1.0 -1\n");
        return Some(json!({"path": PATH, "append": [{"source": data_url(&text)}]}));
    }
    let rest = "sourcedir /run/chrony-dhcp\ndriftfile /var/lib/chrony/drift\nmakestep 1.0 -1\nrtcsync\nlogdir /var/log/chrony\n";
    Some(file(PATH, 0o644, &format!("{servers}{rest}")))
}

pub(super) fn file(path: &str, mode: u32, contents: &str) -> Value {
    json!({
        "path": path,
        "mode": mode,
        "overwrite": true,
        "user": {"name": "root"},
        "contents": {"source": data_url(contents)},
    })
}

pub(super) fn data_url(contents: &str) -> String {
    format!(
        "data:text/plain;charset=utf-8;base64,{}",
        STANDARD.encode(contents)
    )
}
