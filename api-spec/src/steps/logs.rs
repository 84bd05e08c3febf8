//! `logs-gather`: what to send to the service.

use serde::{Deserialize, Serialize};

use crate::serialize::null_as_default;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogsGatherRequest {
    /// The cluster that the logs are uploaded to; empty: none, they are uploaded for the host itself
    /// (docs/protocol/agent-protocol.md#8 has only clusters).
    #[serde(deserialize_with = "null_as_default")]
    pub cluster_id: String,
    #[serde(deserialize_with = "null_as_default")]
    pub host_id: String,
    #[serde(deserialize_with = "null_as_default")]
    pub infra_env_id: String,
    #[serde(deserialize_with = "null_as_default")]
    pub bootstrap: bool,
    /// Always true.
    #[serde(deserialize_with = "null_as_default")]
    pub installer_gather: bool,
    /// Only for the bootstrap host.
    pub master_ips: Option<Vec<String>>,
}
