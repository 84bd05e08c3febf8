//! Defines AgentClusterTemplates: what ClusterClasses make AgentClusters from (docs/protocol/capi-day1.md, section 1).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::absent_is_default;
use crate::{AgentClusterSpec, TemplateMetadata};

/// The AgentClusters that are made from it.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self")]
#[schemars(rename = "AgentClusterTemplateSpec")]
#[kube(
    group = "capi-provider.agent-install.openshift.io",
    version = "v1beta1",
    kind = "AgentClusterTemplate",
    plural = "agentclustertemplates",
    shortname = "agentct",
    category = "cluster-api",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "What a ClusterClass (Cluster API) makes the AgentCluster of each of its Clusters from."
)]
pub struct AgentClusterTemplateSpec {
    /// The AgentCluster.
    pub template: AgentClusterTemplateResource,
}
absent_is_default!(AgentClusterTemplateSpec);

/// An AgentCluster to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentClusterTemplateResource {
    /// Its labels and annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Its spec.
    pub spec: AgentClusterSpec,
}
