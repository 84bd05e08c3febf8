//! What is only known of clusters that are being made of their hosts.

use std::collections::BTreeMap;

use muster_api::ids::HostId;
use serde::{Deserialize, Serialize};

/// What has been worked out of the reports of all hosts together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Day1 {
    /// Who reaches whom; `None` until that has been worked out.
    pub connectivity: Option<ConnectivityGroups>,
    /// Addresses for which several MACs answered, with those.
    pub ip_collisions: BTreeMap<String, Vec<String>>,
}

/// Who reaches whom. Source: docs/protocol/host-lifecycle.md#13.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectivityGroups {
    /// By machine network: hosts that all reach each other.
    pub majority_groups: BTreeMap<String, Vec<HostId>>,
    /// By host: its addresses that all others reach.
    pub l3_connected_addresses: BTreeMap<HostId, Vec<String>>,
}
