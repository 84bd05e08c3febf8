//! Clusters and Machines of Cluster API (`cluster.x-k8s.io/v1beta2`), for the built-in Kubernetes API, which has no Cluster API installed.
//! Members that Muster neither reads nor writes are left to the API server.

mod cluster;
pub mod conversion;
mod machine;
pub mod names;

pub use cluster::{ApiEndpoint, Cluster, ClusterInitialization, ClusterSpec, ClusterStatus, WorkersStatus};
pub use machine::{
    Bootstrap, Machine, MachineAddress, MachineDeletion, MachineDeletionTimes, MachineInitialization,
    MachineSpec, MachineStatus, NodeReference,
};

use serde::{Deserialize, Serialize};

/// A reference to an object in the same namespace, without the version of its API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContractReference {
    /// API group.
    pub api_group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}
