//! Defines AgentMachineTemplates: what Cluster API makes AgentMachines from (docs/protocol/capi-agent-provider.md#7).

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
    /// Its spec.
    pub spec: AgentMachineSpec,
}
