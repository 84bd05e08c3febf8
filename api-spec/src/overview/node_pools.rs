//! Node pools, the Machines of Cluster API, and where these are placed, as the controllers of the service read them. An addition to the
//! protocol.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::host::{HostStage, HostStatus};
use crate::ids::{ClusterId, HostId, InfraEnvId};
use crate::search::HostWait;
use crate::serialize::is_default;

/// The place of the controllers of custom resources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Controllers {
    /// In the process that answers.
    Here,
    /// In another replica.
    Elsewhere,
    /// Nowhere: the service has no Kubernetes API.
    #[default]
    Off,
}

/// The node pools that the service can read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodePools {
    pub controllers: Controllers,
    /// The reason why something is missing, and what to do; absent: nothing is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub note: String,
    /// By namespace and name; at most 500.
    pub node_pools: Vec<NodePool>,
    /// True if there are more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more: bool,
}

/// A node pool, with its Machines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodePoolDetails {
    pub controllers: Controllers,
    /// The reason why something is missing, and what to do; absent: nothing is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub note: String,
    /// Absent: node pools cannot be read here; the note has the reason.
    #[serde(default, skip_serializing_if = "is_default")]
    pub node_pool: Option<NodePool>,
    /// Conditions of its HostedCluster that are not as they should be.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster_problems: Vec<ResourceProblem>,
    /// By name; at most 500.
    pub machines: Vec<MachinePlacement>,
    /// True if there are more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more: bool,
    /// The AgentQuotas that limit the namespace of its Machines.
    pub quotas: Vec<NamespaceQuota>,
}

/// A node pool: a set of Machines of a HostedCluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodePool {
    pub namespace: String,
    pub name: String,
    /// Name of its HostedCluster.
    pub cluster: String,
    /// The cluster of that HostedCluster; absent: there is none yet.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster_id: Option<ClusterId>,
    /// Namespace of its Machines.
    pub machines_namespace: String,
    /// Nodes that it shall have; with a range, the least.
    pub wanted: i64,
    /// The end of the range, where it is scaled by load.
    #[serde(default, skip_serializing_if = "is_default")]
    pub most: Option<i64>,
    /// Nodes that it has.
    pub there: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub version: String,
    /// Labels that its hosts must have; absent: none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub selector: String,
    /// Conditions that are not as they should be.
    #[serde(default, skip_serializing_if = "is_default")]
    pub problems: Vec<ResourceProblem>,
}

/// A condition of a custom resource that is not as it should be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResourceProblem {
    /// Type of the condition.
    pub condition: String,
    /// In one CamelCase word, for programs.
    pub reason: String,
    /// For users.
    pub message: String,
    /// RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub since: String,
}

/// The Machines that the service can read, and where they are placed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Placements {
    pub controllers: Controllers,
    /// The reason why something is missing, and what to do; absent: nothing is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub note: String,
    /// By namespace and name; at most 500.
    pub placements: Vec<MachinePlacement>,
    /// True if there are more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more: bool,
}

/// A Machine, its host, and why it is not on another one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MachinePlacement {
    pub namespace: String,
    /// Name of the AgentMachine.
    pub name: String,
    /// Name of the Machine; absent: there is none yet.
    #[serde(default, skip_serializing_if = "is_default")]
    pub machine: String,
    /// `NAMESPACE/NAME`; absent: it is of no node pool.
    #[serde(default, skip_serializing_if = "is_default")]
    pub node_pool: String,
    /// True when its host is provisioned.
    pub ready: bool,
    /// True while it is being deleted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deleting: bool,
    /// `NAMESPACE/NAME` of the Agent that was taken; absent: none was.
    #[serde(default, skip_serializing_if = "is_default")]
    pub agent: String,
    /// The host of that Agent; absent: it is not known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub host: Option<PlacedHost>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub wait: Option<HostWait>,
    /// Conditions that are not as they should be.
    #[serde(default, skip_serializing_if = "is_default")]
    pub problems: Vec<ResourceProblem>,
    /// Hosts that were considered when it was last decided.
    pub considered: usize,
    /// The reasons why hosts were not taken, in the order of decisions: the numbers and `left` go from `considered` to the hosts that remain.
    pub candidates: Vec<CandidateStep>,
    /// Some of these hosts, those first that a user can make usable; at most 20.
    pub named: Vec<NamedCandidate>,
}

/// A host of a Machine in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlacedHost {
    pub id: HostId,
    pub infra_env_id: InfraEnvId,
    pub name: String,
    pub status: HostStatus,
    /// Of the installation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stage: Option<HostStage>,
    /// Of the installation, 0 to 100.
    #[serde(default, skip_serializing_if = "is_default")]
    pub percentage: u8,
    /// As in the list of hosts; absent: it is awake.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sleep: String,
}

/// The hosts that were not taken for one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CandidateStep {
    /// In one CamelCase word, as in `status.candidates` of the AgentMachine.
    pub reason: String,
    /// In a few words.
    pub what: String,
    /// Number of these hosts.
    pub hosts: usize,
    /// Hosts that are left after this step.
    pub left: usize,
    /// A query of hosts that finds them: by id where `status.candidates` names all of them. Else by the reason itself, as hosts show it at
    /// present, or, where they do not, by id those that are named. Absent: none is named.
    #[serde(default, skip_serializing_if = "is_default")]
    pub query: String,
    /// Number of hosts that the query has by id; 0: it finds them by the reason.
    pub listed: usize,
}

/// A host that was not taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamedCandidate {
    /// Absent: the host is not known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub host_id: Option<HostId>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub infra_env_id: Option<InfraEnvId>,
    /// Of the host, else `NAMESPACE/NAME` of its Agent.
    pub name: String,
    pub reason: String,
    /// For users.
    pub message: String,
}

/// An AgentQuota: how many hosts the Machines of a namespace may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamespaceQuota {
    /// Namespace of the hosts.
    pub namespace: String,
    pub name: String,
    /// Namespace of the Machines.
    pub consumer: String,
    /// Absent: there is none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limit: Option<i64>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub reserved: i64,
    pub used: i64,
    /// Free hosts that are kept for the consumer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub held: i64,
    /// Machines of the consumer that wait.
    #[serde(default, skip_serializing_if = "is_default")]
    pub waiting: i64,
    /// Conditions that are not as they should be.
    #[serde(default, skip_serializing_if = "is_default")]
    pub problems: Vec<ResourceProblem>,
}
