//! `connectivity-check`: which hosts a host reaches, and how well. The argument is a JSON array of [`ConnectivityCheckHost`]. Source:
//! docs/protocol/agent-protocol.md#7.

use serde::{Deserialize, Serialize};

use crate::serialize::{empty_as_null, is_default, null_as_default};

/// Another host of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectivityCheckHost {
    #[serde(deserialize_with = "null_as_default")]
    pub host_id: String,
    /// All its network interfaces.
    #[serde(deserialize_with = "null_as_default")]
    pub nics: Vec<ConnectivityCheckNic>,
}

/// A network card of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectivityCheckNic {
    /// As the other host calls it.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub name: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub mac: String,
    /// Without prefix length, IPv4 before IPv6.
    #[serde(deserialize_with = "null_as_default")]
    pub ip_addresses: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectivityReport {
    /// One entry for each requested host, sorted by id.
    #[serde(serialize_with = "empty_as_null", deserialize_with = "null_as_default")]
    pub remote_hosts: Vec<ConnectivityRemoteHost>,
    /// Our addition, which other services ignore: other machines that respond for the reporting host's own addresses.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub address_conflicts: Vec<AddressConflict>,
}

/// Another machine that responds for an address of the reporting host.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct AddressConflict {
    /// The reporting host's interface that received the other machine's answer.
    #[serde(deserialize_with = "null_as_default")]
    pub outgoing_nic: String,
    /// The address that both have.
    #[serde(deserialize_with = "null_as_default")]
    pub ip_address: String,
    #[serde(deserialize_with = "null_as_default")]
    pub remote_mac: String,
}

/// Connectivity to one other host. Empty lists are `null` on the wire.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectivityRemoteHost {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub host_id: String,
    /// By ARP and NDP.
    #[serde(serialize_with = "empty_as_null", deserialize_with = "null_as_default")]
    pub l2_connectivity: Vec<L2Connectivity>,
    /// By ICMP echo.
    #[serde(serialize_with = "empty_as_null", deserialize_with = "null_as_default")]
    pub l3_connectivity: Vec<L3Connectivity>,
    /// Reports of cards with another MTU than 1500; of the others only failures, which other agents do not detect.
    #[serde(serialize_with = "empty_as_null", deserialize_with = "null_as_default")]
    pub mtu_report: Vec<MtuReport>,
}

/// One machine that answered for an address. Several for one address are a conflict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct L2Connectivity {
    /// Our address on `outgoing_nic`.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub outgoing_ip_address: String,
    /// Interface that the request was sent on.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub outgoing_nic: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub remote_ip_address: String,
    /// MAC address that answered.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub remote_mac: String,
    /// The MAC belongs to the requested host.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub successful: bool,
}

/// Ten echo requests to one address.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct L3Connectivity {
    /// Never set by upstream agents.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub outgoing_nic: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub remote_ip_address: String,
    /// There was at least one reply.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub successful: bool,
    /// Over the replies, ms.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub average_rtt_ms: f64,
    /// Percentage of the ten packets.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub packet_loss_percentage: f64,
}

/// True when a full-sized packet arrives unfragmented.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MtuReport {
    /// Interface that the request was sent on.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub outgoing_nic: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub remote_ip_address: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub mtu_successful: bool,
}
