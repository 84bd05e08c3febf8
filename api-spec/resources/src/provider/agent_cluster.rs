//! Defines AgentClusters: the infrastructure of a Cluster API cluster with Agents as nodes (docs/protocol/capi-agent-provider.md#5).

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::absent_is_default;
use crate::{ClusterReference, IgnitionEndpoint, Initialization, StandardCondition};

/// The cluster's endpoints.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[schemars(rename = "AgentClusterSpec")]
#[kube(
    group = "capi-provider.agent-install.openshift.io",
    version = "v1beta1",
    kind = "AgentCluster",
    plural = "agentclusters",
    namespaced,
    status = "AgentClusterStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "The infrastructure of a Cluster (Cluster API) whose nodes are Agents. From it comes the ClusterDeployment that the Agents are bound to."
)]
pub struct AgentClusterSpec {
    /// Source of the hosts' Ignition, when not the cluster's machine config server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint: Option<IgnitionEndpoint>,
    /// Address of the cluster's API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ControlPlaneEndpoint>,
}
absent_is_default!(AgentClusterSpec);

/// Address of a cluster's API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub struct ControlPlaneEndpoint {
    /// Host name or IP address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub host: Option<String>,
    /// TCP port.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
}

/// Observed state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentClusterStatus {
    /// True when Machines can be made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
    /// The same for clients of the newer contract of Cluster API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// The ClusterDeployment that Agents are bound to; without a name until it is made.
    pub cluster_deployment_reference: ClusterReference,
    /// Failure domains of the cluster: the zones (label `topology.kubernetes.io/zone`) of the Agents that its Machines may have, at most
    /// 100. None for a HostedCluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub failure_domains: Vec<FailureDomain>,
    /// `Ready`, with what is waited for; `Paused` while it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StandardCondition>,
}

/// A failure domain of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomain {
    /// Name of the domain.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// True when control-plane machines may be in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<bool>,
    /// Facts about the domain.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}
