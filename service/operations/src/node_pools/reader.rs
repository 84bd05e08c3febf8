//! Defines what is read of node pools and Machines, which are objects of a Kubernetes API: operations use none.

use futures_util::future::BoxFuture;
use muster_api::node_pools::{MachinePlacement, NamespaceQuota, NodePool, ResourceProblem};
use muster_core::record::KubeRef;

/// Most node pools, and most Machines, in an answer.
pub const MOST: usize = 500;

/// A part of a list: at most [`MOST`] objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part<T> {
    pub items: Vec<T>,
    /// True if there are more.
    pub more: bool,
}

/// Which Machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachinesOf {
    All,
    /// The Machines of a node pool, which are in the namespace `place`.
    NodePool {
        pool: KubeRef,
        place: String,
    },
    /// The Machine, or AgentMachine, of this name.
    One(KubeRef),
}

/// A Machine as the Kubernetes API has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineSeen {
    /// Without its host and candidates.
    pub placement: MachinePlacement,
    /// The Agent that was taken.
    pub agent: Option<KubeRef>,
    /// Names of reasons, with the number of Agents that were not taken for each.
    pub reasons: Vec<(String, usize)>,
    pub named: Vec<AgentSeen>,
}

/// An Agent that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSeen {
    pub agent: KubeRef,
    pub reason: String,
    pub message: String,
}

/// Reads node pools and Machines. An error is a sentence for users: why they cannot be read.
pub trait NodePoolReader: Send + Sync {
    /// All node pools, or the one of this name, without the ids of their clusters.
    fn node_pools<'a>(&'a self, name: Option<&'a KubeRef>) -> BoxFuture<'a, Result<Part<NodePool>, String>>;

    /// The conditions of a HostedCluster that are not as they should be; none of one that does not exist or may not be read.
    fn cluster_problems<'a>(
        &'a self,
        name: &'a KubeRef,
    ) -> BoxFuture<'a, Result<Vec<ResourceProblem>, String>>;

    /// Machines with their AgentMachines.
    fn machines<'a>(&'a self, of: &'a MachinesOf) -> BoxFuture<'a, Result<Part<MachineSeen>, String>>;

    /// The AgentQuotas for the Machines of a namespace.
    fn quotas<'a>(&'a self, machines: &'a str) -> BoxFuture<'a, Result<Vec<NamespaceQuota>, String>>;
}
