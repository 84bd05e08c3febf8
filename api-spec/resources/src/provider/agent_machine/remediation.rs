//! Defines AgentRemediations and their templates: a MachineHealthCheck makes one for each unhealthy Machine (docs/protocol/capi-day1.md, section 1).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::absent_is_default;
use crate::{StandardCondition, TemplateMetadata, Time, schema};

/// The way in which a Machine is remediated.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self")]
#[schemars(rename = "AgentRemediationSpec")]
#[kube(
    group = "capi-provider.agent-install.openshift.io",
    version = "v1beta1",
    kind = "AgentRemediation",
    plural = "agentremediations",
    category = "cluster-api",
    namespaced,
    status = "AgentRemediationStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "The remediation of an unhealthy Machine (Cluster API) on an Agent: its host is rebooted, and the Machine replaced when that does not help. A MachineHealthCheck makes it from an AgentRemediationTemplate, and deletes it when the Machine is healthy.",
    printcolumn(name = "Phase", json_path = ".status.phase", type_ = "string"),
    printcolumn(name = "Reboots", json_path = ".status.retryCount", type_ = "integer"),
    printcolumn(name = "Last", json_path = ".status.lastRemediated", type_ = "date"),
    printcolumn(
        name = "Message",
        json_path = ".status.conditions[?(@.type=='Ready')].message",
        type_ = "string",
        priority = 1
    )
)]
pub struct AgentRemediationSpec {
    /// The steps before the Machine is replaced. Without it, one reboot with ten minutes to become healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<RemediationStrategy>,
}
absent_is_default!(AgentRemediationSpec);

/// Steps before a Machine is replaced. The names are those of Metal3Remediation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemediationStrategy {
    /// `Reboot`: the host is rebooted by its BMC, or by the agent on its node.
    #[serde(rename = "type", default)]
    pub type_: RemediationType,
    /// Number of reboots after which the Machine is replaced. 0: it is replaced at once.
    #[serde(default = "one")]
    #[schemars(schema_with = "schema::integer_from_zero")]
    pub retry_limit: i64,
    /// Time for the Machine to become healthy after each reboot, such as `10m` or `1h30m`.
    #[serde(default = "ten_minutes")]
    #[schemars(regex(pattern = "^([0-9]{1,5}(s|m|h))+$"))]
    pub timeout: String,
}

impl Default for RemediationStrategy {
    fn default() -> Self {
        Self {
            type_: RemediationType::default(),
            retry_limit: one(),
            timeout: ten_minutes(),
        }
    }
}

fn one() -> i64 {
    1
}

fn ten_minutes() -> String {
    "10m".to_owned()
}

/// A kind of step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RemediationType {
    #[default]
    Reboot,
}

/// Observed state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentRemediationStatus {
    /// `Running`: a reboot is requested or under way. `Waiting`: the host was rebooted, and its Machine has time to become healthy. `Deleting`:
    /// the Machine is left to its owner, which replaces it. `Failed`: it cannot be remediated in the way that is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Time of the last request to reboot the host, which identifies that request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_remediated: Option<Time>,
    /// Number of requests to reboot the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer_from_zero")]
    pub retry_count: Option<i64>,
    /// `Ready`, with what is awaited, until when, and what follows. It is never true: a remediation whose Machine is healthy is deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StandardCondition>,
}

/// The AgentRemediations that are made from it.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self")]
#[schemars(rename = "AgentRemediationTemplateSpec")]
#[kube(
    group = "capi-provider.agent-install.openshift.io",
    version = "v1beta1",
    kind = "AgentRemediationTemplate",
    plural = "agentremediationtemplates",
    category = "cluster-api",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "The template of AgentRemediations, which a MachineHealthCheck names in spec.remediation.templateRef. A change counts for new ones only."
)]
pub struct AgentRemediationTemplateSpec {
    /// The AgentRemediation.
    pub template: AgentRemediationTemplateResource,
}
absent_is_default!(AgentRemediationTemplateSpec);

/// An AgentRemediation to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRemediationTemplateResource {
    /// Its labels and annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Its spec.
    pub spec: AgentRemediationSpec,
}
