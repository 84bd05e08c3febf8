//! Defines AgentMachineTemplates: what Cluster API makes AgentMachines from (docs/protocol/capi-agent-provider.md#7,
//! docs/protocol/capi-day1.md, section 1).

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AgentMachineSpec;
use crate::absent::absent_is_default;

/// The AgentMachines that are made from it.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self")]
#[schemars(rename = "AgentMachineTemplateSpec")]
#[kube(
    group = "capi-provider.agent-install.openshift.io",
    version = "v1beta1",
    kind = "AgentMachineTemplate",
    plural = "agentmachinetemplates",
    shortname = "agentmt",
    category = "cluster-api",
    namespaced,
    status = "AgentMachineTemplateStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "What Cluster API makes AgentMachines from, one for each Machine. A change counts for new ones only."
)]
pub struct AgentMachineTemplateSpec {
    /// The AgentMachine.
    pub template: AgentMachineTemplateResource,
}
absent_is_default!(AgentMachineTemplateSpec);

/// An AgentMachine to be made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentMachineTemplateResource {
    /// Its labels and annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Its spec.
    pub spec: AgentMachineSpec,
}

/// Metadata of the objects that Cluster API makes from a template.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateMetadata {
    /// Labels of each object, in addition to those of Cluster API.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of each object, in addition to those of Cluster API.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// What a node of a Machine made from the template has, for autoscalers that start without a Machine. Absent while no Agent fits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentMachineTemplateStatus {
    /// The least of the Agents that fit, as quantities: `cpu`, `memory`, `ephemeral-storage`, `pods`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, String>,
    /// The system of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_info: Option<TemplateNodeInfo>,
}

/// The system of a node, as Cluster API names its parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateNodeInfo {
    /// Architecture of the processors that most of the Agents have which fit.
    #[schemars(extend("enum" = ["amd64", "arm64", "s390x", "ppc64le"]))]
    pub architecture: String,
    /// Operating system: `linux`.
    #[schemars(extend("enum" = ["linux"]))]
    pub operating_system: String,
}
