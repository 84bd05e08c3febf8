//! Switches with the hosts at their ports, as LLDP shows them. An addition to the protocol.

use serde::{Deserialize, Serialize};

use crate::ids::{HostId, InfraEnvId};
use crate::serialize::is_default;

/// A part of the switches that hosts report, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Links {
    pub switches: Vec<LinkedSwitch>,
    /// Number of all of them.
    pub total: usize,
    /// Hosts that the caller may see and that report no switch.
    pub without_switch: usize,
    /// Time of the answer. RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub at: String,
}

/// Most VLANs of a host in an answer.
pub const MOST_VLANS: usize = 64;

/// A switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LinkedSwitch {
    /// Empty: hosts name its ports alone.
    pub switch: String,
    /// A query of its hosts; absent: there is none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub query: String,
    /// In the order of their names.
    pub ports: Vec<LinkedPort>,
    /// Further cables of its hosts, beyond the limit of an answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cables_left_out: usize,
}

/// A port of a switch. Several hosts at one port are a wrong report, or there is a switch without LLDP between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LinkedPort {
    pub port: String,
    pub hosts: Vec<LinkedHost>,
}

/// A host at a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LinkedHost {
    pub id: HostId,
    pub infra_env_id: InfraEnvId,
    pub name: String,
    /// Number of switches to which it has cables.
    pub switches: usize,
    /// VLANs of all its ports, tagged and native; the first [`MOST_VLANS`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub vlans: Vec<u16>,
}
