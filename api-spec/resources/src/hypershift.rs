//! HostedClusters and NodePools of HyperShift (`hypershift.openshift.io/v1beta1`), for the built-in Kubernetes API: the members that are
//! used here. Their definitions keep all others as they are written.

mod hosted_cluster;
mod node_pool;

pub use hosted_cluster::{
    AgentPlatform, Dns, Endpoint, HostedCluster, HostedClusterPlatform, HostedClusterSpec,
    HostedClusterStatus, HostedControlPlane, HostedControlPlaneSpec, HostedControlPlaneStatus,
    KubeconfigReference,
};
pub use node_pool::{
    AgentNodePoolPlatform, AutoScaling, Management, NodePool, NodePoolPlatform, NodePoolSpec, NodePoolStatus,
    Replace, RollingUpdate, Taint, UpgradeStrategy, UpgradeType,
};

use serde::{Deserialize, Serialize};

/// API group.
pub const GROUP: &str = "hypershift.openshift.io";

/// Annotation of objects of a NodePool: its namespace and name.
pub const NODE_POOL: &str = "hypershift.openshift.io/nodePool";
/// Annotation of objects of a HostedCluster: its namespace and name.
pub const HOSTED_CLUSTER: &str = "hypershift.openshift.io/cluster";
/// Annotation of Machines: the taints of their NodePool, JSON text.
pub const NODE_POOL_TAINTS: &str = "hypershift.openshift.io/nodePoolTaints";
/// Label of Nodes: the name of their NodePool.
pub const NODE_POOL_LABEL: &str = NODE_POOL;
/// Prefix of labels of Machines that their nodes get.
pub const NODE_LABEL_PREFIX: &str = "managed.hypershift.openshift.io.";
/// On HostedClusters and NodePools, until what was made for them is gone.
pub const FINALIZER: &str = "hypershift.openshift.io/finalizer";

/// The only platform of clusters that the controllers act on.
pub const AGENT: &str = "Agent";

/// A release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Release {
    /// Its image.
    pub image: String,
}

/// An object in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Local {
    pub name: String,
}
