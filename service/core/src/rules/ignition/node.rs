//! Writes the ignition of a host that is added to a cluster: a pointer to the cluster's own, or the bootstrap data that it was given,
//! with the agent that can bring the node back. Source: docs/protocol/install-flow.md#4.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_api::node_agent::{CONFIG_PATH, NodeAgentConfig, PROGRAM_PATH};
use serde_json::{Value, json};
use thiserror::Error;

use super::bootstrap::version;
use super::endpoint::api_vip;
use super::merge;
use crate::json::to_json;
use crate::record::{Host, NodeAgent};
use crate::rules::facts::ClusterFacts;
use crate::rules::hostname;

/// Name of the unit that runs the agent on the node.
pub const UNIT: &str = "muster-node-agent.service";

/// The error of a host's ignition.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NodeIgnitionError {
    /// The address of the cluster's ignition is not known.
    #[error(
        "the cluster has neither an ignition endpoint nor an API name, so nobody knows where its ignition is: import it with api_vip_dnsname"
    )]
    NoEndpoint,
    /// The stored override is not what was accepted.
    #[error("the stored ignition override of the host cannot be merged: {0}")]
    Override(String),
    /// The bootstrap data is not what was accepted.
    #[error("the bootstrap data of the host cannot be used: {0}")]
    Bootstrap(&'static str),
}

/// The ignition of a host that is installed, with its override merged. JSON text; it holds the host's token or bootstrap data.
/// `agent`: for the agent on the node, when the installation puts one there.
///
/// # Errors
/// See [`NodeIgnitionError`].
pub fn node(
    host: &Host,
    cluster: ClusterFacts<'_>,
    agent: &NodeAgentConfig,
) -> Result<String, NodeIgnitionError> {
    let base = if host.bootstrap_ignition.is_empty() {
        pointer(host, cluster)?
    } else {
        serde_json::from_str(host.bootstrap_ignition.reveal())
            .map_err(|_| NodeIgnitionError::Bootstrap("it is not JSON any more; set it again"))?
    };
    let Some(base_version) = version(&base) else {
        return Err(NodeIgnitionError::Bootstrap(
            "it is not Ignition any more; set it again",
        ));
    };
    let config = merge(base, &additions(host, agent, base_version));
    let own = host.data.ignition_config_overrides.reveal();
    let text = if own.is_empty() {
        config.to_string()
    } else {
        with_override(config, own, base_version)?
    };
    if host.bootstrap_ignition.is_empty() {
        super::check_override(&text).map_err(NodeIgnitionError::Override)?;
    }
    Ok(text)
}

/// The user's own on top. The result has the newer version of the two: the older would not say all that is in it.
fn with_override(
    config: Value,
    own: &str,
    base_version: (u32, u32, u32),
) -> Result<String, NodeIgnitionError> {
    let child: Value =
        serde_json::from_str(own).map_err(|error| NodeIgnitionError::Override(error.to_string()))?;
    let newer = version(&child).map_or(base_version, |own| own.max(base_version));
    if newer.0 != base_version.0 {
        let why = "it is of Ignition's specification 3, and the bootstrap data of 2; take the override away";
        return Err(NodeIgnitionError::Override(why.into()));
    }
    let mut merged = merge(config, &child);
    let (major, minor, patch) = newer;
    merged["ignition"]["version"] = format!("{major}.{minor}.{patch}").into();
    Ok(merged.to_string())
}

/// Ignition 3.2.0 that points to the cluster's own.
fn pointer(host: &Host, cluster: ClusterFacts<'_>) -> Result<Value, NodeIgnitionError> {
    let endpoint = api_vip(host, cluster).ok_or(NodeIgnitionError::NoEndpoint)?;
    let mut source = json!({"source": endpoint.url});
    if let Some(headers) = endpoint.request_headers {
        source["httpHeaders"] = headers
            .into_iter()
            .map(|header| json!({"name": header.key, "value": header.value}))
            .collect();
    }
    let mut config = json!({"ignition": {"version": "3.2.0", "config": {"merge": [source]}}});
    if let Some(ca) = endpoint.ca_certificate {
        config["ignition"]["security"] =
            json!({"tls": {"certificateAuthorities": [{"source": format!("data:text/plain;base64,{ca}")}]}});
    }
    Ok(config)
}

/// The host's name, and the agent on the node, in the words of the specification.
fn additions(host: &Host, agent: &NodeAgentConfig, base_version: (u32, u32, u32)) -> Value {
    let file = |path: &str, mode: u32, source: String| {
        let mut file = json!({"path": path, "mode": mode, "overwrite": true, "contents": {"source": source}});
        if base_version.0 == 2 {
            file["filesystem"] = "root".into();
        }
        file
    };
    let name = format!("data:,{}", hostname::display(host));
    let mut files = vec![file("/etc/hostname", 0o644, name)];
    let mut config = json!({});
    if host.data.node_agent == NodeAgent::Installed {
        let settings = STANDARD.encode(to_json(agent));
        files.push(file(CONFIG_PATH, 0o600, format!("data:;base64,{settings}")));
        config["systemd"] = json!({"units": [{"name": UNIT, "enabled": true, "contents": unit()}]});
    }
    config["storage"] = json!({"files": files});
    config
}

fn unit() -> String {
    format!(
        "[Unit]\nDescription=Muster agent: brings this node back to its InfraEnv when it leaves its cluster\n\
         Wants=network-online.target\nAfter=network-online.target\n\n\
         [Service]\nExecStart={PROGRAM_PATH} node --config {CONFIG_PATH}\nRestart=always\nRestartSec=30\n\n\
         [Install]\nWantedBy=multi-user.target\n"
    )
}
