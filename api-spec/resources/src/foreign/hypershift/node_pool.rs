//! A NodePool: a set of nodes of a HostedCluster that can be scaled.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::Release;
use crate::StandardCondition;
use crate::absent::absent_is_default;

/// What the pool shall be.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase", default)]
#[kube(
    group = "hypershift.openshift.io",
    version = "v1beta1",
    kind = "NodePool",
    plural = "nodepools",
    namespaced,
    status = "NodePoolStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct NodePoolSpec {
    /// Name of the HostedCluster.
    pub cluster_name: String,
    /// The release that nodes run.
    pub release: Release,
    /// What nodes run on.
    pub platform: NodePoolPlatform,
    /// Desired number of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Limits of that number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_scaling: Option<AutoScaling>,
    /// How nodes are replaced.
    pub management: Management,
    /// Time that draining a node can take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_drain_timeout: Option<String>,
    /// Time that volumes can take to be detached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_volume_detach_timeout: Option<String>,
    /// Labels of nodes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: BTreeMap<String, String>,
    /// Taints of nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// Nothing is done until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
    /// Architecture of the processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
}
absent_is_default!(NodePoolSpec);

/// What nodes of a pool run on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodePoolPlatform {
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentNodePoolPlatform>,
}

/// Agents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentNodePoolPlatform {
    /// Those that may be taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_label_selector: Option<LabelSelector>,
}

/// Limits of a number of nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AutoScaling {
    pub min: i32,
    pub max: i32,
}

/// How nodes are replaced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Management {
    pub upgrade_type: UpgradeType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace: Option<Replace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlace>,
    pub auto_repair: bool,
}

/// How nodes are upgraded in place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InPlace {
    /// Nodes that may be missing meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
}

/// What the node of a Machine is upgraded to: the value of the annotation
/// [`IN_PLACE_UPGRADE`](crate::names::annotation::IN_PLACE_UPGRADE). Specific to Muster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InPlaceUpgrade {
    /// Time at which it began, RFC 3339. It identifies the upgrade.
    pub began: String,
    /// Secret with the bootstrap data.
    pub data_secret_name: String,
    /// The AgentMachineTemplate.
    pub template: String,
    /// Version of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The uid of the former system's Node, recorded before its host leaves that system; `None`: it was not known then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_uid: Option<String>,
}

/// What happens to nodes when the pool changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UpgradeType {
    /// They are replaced by new ones.
    Replace,
    /// They are installed again, one after the other.
    #[default]
    InPlace,
}

/// How nodes are rolled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Replace {
    pub strategy: UpgradeStrategy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
}

/// Initiator of a node's replacement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UpgradeStrategy {
    /// The controller.
    #[default]
    RollingUpdate,
    /// A client, by deleting the node's Machine.
    OnDelete,
}

/// Limits of a rolling update.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdate {
    /// Nodes that may be missing meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// Nodes that may be there in addition meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
}

/// A taint of nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Taint {
    pub key: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    pub effect: String,
}

/// What the pool is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodePoolStatus {
    /// Nodes that are available.
    pub replicas: i32,
    /// Version of the release that nodes run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StandardCondition>,
}
