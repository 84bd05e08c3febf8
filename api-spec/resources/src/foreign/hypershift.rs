//! HostedClusters and NodePools of HyperShift (`hypershift.openshift.io/v1beta1`), for the built-in Kubernetes API. The types have the
//! members that Muster uses; the CRDs keep all other members as they were written.

mod hosted_cluster;
mod node_pool;

pub use hosted_cluster::{
    AgentPlatform, Dns, Endpoint, HostedCluster, HostedClusterPlatform, HostedClusterSpec,
    HostedClusterStatus, HostedControlPlane, HostedControlPlaneSpec, HostedControlPlaneStatus,
    KubeconfigReference,
};
pub use node_pool::{
    AgentNodePoolPlatform, AutoScaling, InPlace, InPlaceUpgrade, Management, NodePool, NodePoolPlatform,
    NodePoolSpec, NodePoolStatus, Replace, RollingUpdate, Taint, UpgradeStrategy, UpgradeType,
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
/// Prefix of those labels of a Machine that are set on its Node, too.
pub const NODE_LABEL_PREFIX: &str = "managed.hypershift.openshift.io.";
/// Finalizer of HostedClusters and NodePools: they stay until the objects that were made for them are deleted.
pub const FINALIZER: &str = "hypershift.openshift.io/finalizer";

/// The only platform of HostedClusters and NodePools that the controllers support.
pub const AGENT: &str = "Agent";

/// A release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Release {
    /// Its image.
    pub image: String,
}

/// Refers to an object in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Local {
    pub name: String,
}
