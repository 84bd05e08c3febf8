//! Writes the ignition of a host that is added to a cluster: a pointer to the cluster's own. Source: docs/protocol/install-flow.md#4.

use serde_json::{Value, json};
use thiserror::Error;

use super::endpoint::api_vip;
use super::merge;
use crate::record::Host;
use crate::rules::facts::ClusterFacts;
use crate::rules::hostname;

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
}

/// The ignition (3.2.0) of a host that is installed, with its override merged. JSON text; it holds the host's token.
///
/// # Errors
/// See [`NodeIgnitionError`].
pub fn node(host: &Host, cluster: ClusterFacts<'_>) -> Result<String, NodeIgnitionError> {
    let endpoint = api_vip(host, cluster).ok_or(NodeIgnitionError::NoEndpoint)?;
    let mut source = json!({"source": endpoint.url});
    if let Some(headers) = endpoint.request_headers {
        source["httpHeaders"] = headers
            .into_iter()
            .map(|header| json!({"name": header.key, "value": header.value}))
            .collect();
    }
    let name = hostname::display(host);
    let mut config = json!({
        "ignition": {"version": "3.2.0", "config": {"merge": [source]}},
        "storage": {"files": [{
            "path": "/etc/hostname", "mode": 0o644, "overwrite": true,
            "contents": {"source": format!("data:,{name}")},
        }]},
    });
    if let Some(ca) = endpoint.ca_certificate {
        config["ignition"]["security"] =
            json!({"tls": {"certificateAuthorities": [{"source": format!("data:text/plain;base64,{ca}")}]}});
    }
    let own = host.data.ignition_config_overrides.reveal();
    if own.is_empty() {
        return Ok(config.to_string());
    }
    let child: Value =
        serde_json::from_str(own).map_err(|error| NodeIgnitionError::Override(error.to_string()))?;
    let version = child.pointer("/ignition/version").and_then(Value::as_str);
    let mut merged = merge(config, &child);
    // The older of the two would not say all that is in it.
    if version.is_some_and(|version| version < "3.2.0") {
        merged["ignition"]["version"] = "3.2.0".into();
    }
    let text = merged.to_string();
    super::check_override(&text).map_err(NodeIgnitionError::Override)?;
    Ok(text)
}
