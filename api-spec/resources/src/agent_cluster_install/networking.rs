use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Networks of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Networking {
    /// Networks that the hosts are in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine_network: Vec<MachineNetwork>,
    /// Networks that pods get their addresses from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_network: Vec<ClusterNetwork>,
    /// Networks that services get their addresses from, as CIDRs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_network: Vec<String>,
    /// Network plugin that connects the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_type: Option<NetworkType>,
    /// True when the addresses of API and ingress, their DNS names and the load balancers are managed outside of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_managed_networking: Option<bool>,
}

/// A network that hosts are in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineNetwork {
    /// The network, such as `192.0.2.0/24`.
    pub cidr: String,
}

/// A network that pods get their addresses from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterNetwork {
    /// The network, such as `10.128.0.0/14`.
    pub cidr: String,
    /// Prefix length of the part that each node gets, such as 23.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_prefix: Option<i32>,
}

/// Network plugin that connects the pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NetworkType {
    OpenShiftSDN,
    OVNKubernetes,
    CiscoACI,
    Cilium,
    Calico,
    None,
}
