//! A Machine: one node of a cluster, and the host that it shall run on.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ContractReference;
use crate::StandardCondition;

/// What the Machine shall be.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Machine",
    plural = "machines",
    namespaced,
    status = "MachineStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct MachineSpec {
    /// Name of the Cluster.
    pub cluster_name: String,
    /// Where its bootstrap data are.
    pub bootstrap: Bootstrap,
    /// The object of the infrastructure provider that finds a host for it.
    pub infrastructure_ref: ContractReference,
    /// Version of Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The host, as its Node names it too.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Failure domain that it shall be in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// Seconds that it must be ready to count as available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i64>,
    /// Timeouts of its deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<MachineDeletion>,
}

/// Bootstrap data of a Machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bootstrap {
    /// The object of the bootstrap provider that makes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_ref: Option<ContractReference>,
    /// Secret that has them under the key `value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_secret_name: Option<String>,
}

/// Timeouts of a Machine's deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineDeletion {
    /// Seconds that draining its node can take; none and 0: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_drain_timeout_seconds: Option<i64>,
    /// Seconds that volumes can take to be detached; none and 0: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_volume_detach_timeout_seconds: Option<i64>,
    /// Seconds that deleting its Node is tried; none: 10, 0: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_deletion_timeout_seconds: Option<i64>,
}

/// What the Machine is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StandardCondition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<MachineInitialization>,
    /// Its Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_ref: Option<NodeReference>,
    /// The Node's report about itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_info: Option<Map<String, Value>>,
    /// Time of the last change of the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Time>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// Pending, Provisioning, Provisioned, Running, Deleting, Deleted or Failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Times of its deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<MachineDeletionTimes>,
}

/// Steps of a Machine's beginning that are done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineInitialization {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_provisioned: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_data_secret_created: Option<bool>,
}

/// A Node of the Machine's cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeReference {
    pub name: String,
}

/// An address of a Machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineAddress {
    #[serde(rename = "type")]
    pub type_: String,
    pub address: String,
}

/// When the steps of a Machine's deletion began.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineDeletionTimes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_drain_start_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_for_node_volume_detach_start_time: Option<Time>,
}
