//! Defines the configuration of `muster-agent node` on an installed node: the service writes it into the node's ignition.

use serde::{Deserialize, Serialize};

use crate::ids::{HostId, InfraEnvId};
use crate::live::LiveProxy;
use crate::serialize::{is_default, null_as_default};

/// Path of the agent's program on the node, where the installer puts it and the unit starts it.
pub const PROGRAM_PATH: &str = "/usr/local/bin/muster-agent";

/// Path of the configuration on the node, mode 0600.
pub const CONFIG_PATH: &str = "/etc/muster/agent.json";

/// Path of the private part of the host's key on the node, mode 0600: 64 hexadecimal digits.
pub const HOST_KEY_PATH: &str = "/etc/muster/host-key";

/// URL of the service and the host's credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAgentConfig {
    /// Base URL of the service, without `/api/assisted-install`.
    pub service_url: String,
    pub infra_env_id: InfraEnvId,
    pub host_id: HostId,
    /// The agent's token; absent when the service requires none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// PEM certificates to trust in addition to the public ones.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        deserialize_with = "null_as_default"
    )]
    pub ca_certificates: String,
    /// Proxy to the service.
    #[serde(default, skip_serializing_if = "is_default")]
    pub proxy: LiveProxy,
}
