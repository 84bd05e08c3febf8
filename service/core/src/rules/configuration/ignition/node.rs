//! Writes the ignition of a host that is added to a cluster: a pointer to the cluster's own, or its bootstrap data,
//! with the agent that can bring the node back. Source: docs/protocol/install-flow.md#4.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_api::node_agent::{CONFIG_PATH, NodeAgentConfig, PROGRAM_PATH};
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};
use thiserror::Error;

use super::bootstrap::of_host;
use super::endpoint::{ESCAPED, api_vip};
use super::overrides::{check_known, check_override, sentence};
use crate::json::to_json;
use crate::record::{Host, NodeAgent};
use crate::rules::bootstrap_data::{is_known, version};
use crate::rules::facts::ClusterFacts;
use crate::rules::hostname;
use crate::rules::ignition_spec::{self as spec, Config};

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
    /// The stored override is damaged.
    #[error("the stored ignition override of the host cannot be merged: {0}")]
    Override(String),
    /// The stored bootstrap data is damaged.
    #[error("the bootstrap data of the host cannot be used: {0}")]
    Bootstrap(String),
    /// Each part alone is fine, but not together.
    #[error("the ignition of the host is not what Ignition takes: {0}")]
    Refused(String),
}

/// Returns the ignition of a host that is installed, with its override merged, as JSON text; it holds the host's token
/// or bootstrap data. `agent`: for the agent on the node, if the installation puts one there.
///
/// # Errors
/// See [`NodeIgnitionError`].
pub fn node(
    host: &Host,
    cluster: ClusterFacts<'_>,
    agent: &NodeAgentConfig,
) -> Result<String, NodeIgnitionError> {
    let stored = host.bootstrap_ignition.reveal();
    if stored.is_empty() {
        let pointer = Config {
            minor: 2,
            value: pointer(host, cluster)?,
        };
        return of_known(pointer, host, cluster, agent);
    }
    let text = of_host(host, stored).map_err(|refused| NodeIgnitionError::Bootstrap(refused.to_string()))?;
    let base: Value = serde_json::from_str(&text)
        .map_err(|_| NodeIgnitionError::Bootstrap("it is not JSON any more; set it again".into()))?;
    let Some(version) = version(&base) else {
        return Err(NodeIgnitionError::Bootstrap(
            "it is not Ignition any more; set it again".into(),
        ));
    };
    if is_known(version) {
        let base = spec::read(&text).map_err(|problem| NodeIgnitionError::Bootstrap(problem.to_string()))?;
        of_known(base, host, cluster, agent)
    } else {
        of_unknown(base, host, agent)
    }
}

/// Merges the user's override by Ignition's rules. The result has the newest specification of its parts: an older one
/// could not express all of their members.
fn of_known(
    base: Config,
    host: &Host,
    cluster: ClusterFacts<'_>,
    agent: &NodeAgentConfig,
) -> Result<String, NodeIgnitionError> {
    let additions = Config {
        minor: base.minor,
        value: additions(host, agent),
    };
    let mut config = base.with(additions);
    let own = host.data.ignition_config_overrides.reveal();
    if !own.is_empty() {
        let own = check_override(own)
            .and_then(|own| check_known(&own, &cluster.cluster.data.openshift_version).map(|()| own))
            .map_err(NodeIgnitionError::Override)?;
        config = config.with(own);
    }
    let problems = spec::problems(&config);
    if problems.is_empty() {
        Ok(config.value.to_string())
    } else {
        Err(NodeIgnitionError::Refused(sentence(
            &problems,
            Some(&config.value),
        )))
    }
}

/// Merges an override over a config of a specification that is newer than this program, by form, without validation.
fn of_unknown(base: Value, host: &Host, agent: &NodeAgentConfig) -> Result<String, NodeIgnitionError> {
    let mut config = spec::merged(base, &additions(host, agent));
    let own = host.data.ignition_config_overrides.reveal();
    if !own.is_empty() {
        let mut own = check_override(own).map_err(NodeIgnitionError::Override)?.value;
        // The base's version is newer.
        own["ignition"]["version"].take();
        config = spec::merged(config, &own);
    }
    Ok(config.to_string())
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

/// The host's name and the agent on the node.
fn additions(host: &Host, agent: &NodeAgentConfig) -> Value {
    let file = |path: &str, mode: u32, source: String| json!({"path": path, "mode": mode, "overwrite": true, "contents": {"source": source}});
    let name = hostname::display(host);
    let name = utf8_percent_encode(&name, ESCAPED);
    let mut files = vec![file("/etc/hostname", 0o644, format!("data:,{name}"))];
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
