//! How a cluster is set up, as far as checks of its hosts ask. Of an imported cluster hardly any of it is known, which
//! is what the defaults say.

use std::collections::BTreeMap;

use muster_api::ids::HostId;
use serde::{Deserialize, Serialize};

/// What checks need to know. Texts that are empty mean "not set".
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterSetup {
    /// Whether hosts are added to it or it is being made.
    pub kind: ClusterKind,
    /// What it runs on.
    pub platform: Platform,
    /// Its users provide DNS and load balancers.
    pub user_managed_networking: bool,
    /// Its users provide the load balancer only.
    pub user_managed_load_balancer: bool,
    /// Its addresses are leased by DHCP.
    pub vip_dhcp_allocation: bool,
    /// 1: a single node; 0: not known.
    pub control_plane_count: u32,
    /// Of pods, CIDR.
    pub cluster_networks: Vec<String>,
    /// Of services, CIDR.
    pub service_networks: Vec<String>,
    /// How disks are encrypted.
    pub disk_encryption: DiskEncryption,
    /// Names of the add-on operators that are selected.
    pub operators: Vec<String>,
    /// Who reaches whom; `None` until that has been worked out.
    pub connectivity: Option<ConnectivityGroups>,
    /// Addresses for which several MACs answered, with those.
    pub ip_collisions: BTreeMap<String, Vec<String>>,
}

/// Whether a cluster exists already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClusterKind {
    /// It does; hosts are added to it (day-2).
    #[default]
    AddHostsCluster,
    /// It is made of its hosts (day-1).
    Cluster,
}

/// What a cluster runs on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are the protocol's")]
pub enum Platform {
    #[default]
    Baremetal,
    None,
    Vsphere,
    Nutanix,
    External,
}

impl Platform {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baremetal => "baremetal",
            Self::None => "none",
            Self::Vsphere => "vsphere",
            Self::Nutanix => "nutanix",
            Self::External => "external",
        }
    }
}

/// How the disks of a cluster's nodes are encrypted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskEncryption {
    /// `none`, `all`, or a comma list of `masters`, `arbiters`, `workers`; empty: `none`.
    pub enable_on: String,
    /// `tpmv2` or `tang`.
    pub mode: String,
    /// JSON text: array of url and thumbprint.
    pub tang_servers: String,
}

/// Who reaches whom. Source: host-lifecycle.md §13.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectivityGroups {
    /// By machine network: hosts that all reach each other.
    pub majority_groups: BTreeMap<String, Vec<HostId>>,
    /// By host: its addresses that all others reach.
    pub l3_connected_addresses: BTreeMap<HostId, Vec<String>>,
}
