//! Defines AgentMachines: a Machine of Cluster API that becomes a node on an Agent (docs/protocol/capi-agent-provider.md#2).

mod remediation;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::absent_is_default;
use crate::{Initialization, StandardCondition, schema, selector};

pub use remediation::{
    AgentRemediation, AgentRemediationSpec, AgentRemediationStatus, AgentRemediationTemplate,
    AgentRemediationTemplateResource, AgentRemediationTemplateSpec, RemediationStrategy, RemediationType,
};

/// The Agent that is wanted.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[schemars(rename = "AgentMachineSpec")]
#[kube(
    group = "capi-provider.agent-install.openshift.io",
    version = "v1beta1",
    kind = "AgentMachine",
    plural = "agentmachines",
    namespaced,
    status = "AgentMachineStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A Machine (Cluster API) on an Agent. It takes a fit Agent for the Machine, waits until the host is installed, and gives it back when the Machine is deleted."
)]
pub struct AgentMachineSpec {
    /// Id by which Machine and Node find each other: `agent://` and the Agent's name. Set by the controller.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Selects the Agents that may be taken. Without it, any may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "selector::schema")]
    pub agent_label_selector: Option<LabelSelector>,
    /// The image that is written to the disk: the name, else the build, else the version of an entry of the service's list
    /// (`--os-images`). Without it, the Machine's `spec.version` decides where entries have a Kubernetes version, else the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub os_image: Option<String>,
    /// Architecture that the Agent's processors must have. Without it, that of the Machine's NodePool counts, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["amd64", "x86_64", "arm64", "aarch64", "ppc64le", "s390x"]))]
    pub architecture: Option<String>,
}
absent_is_default!(AgentMachineSpec);

/// Observed state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentMachineStatus {
    /// True when the host was started from its disk and may be expected to run its kubelet; for a HostedCluster, and where the annotation
    /// `capi-provider.agent-install.openshift.io/provisioned` is `joined`, when its Node is Ready. Stays true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
    /// The same for clients of the newer contract of Cluster API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// The Agent that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_ref: Option<AgentReference>,
    /// Addresses of the host, as soon as its Agent is taken: `InternalIP` and `ExternalIP` for each of its addresses, `Hostname` and
    /// `InternalDNS` for its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// Failure domain of the Agent: its label `topology.kubernetes.io/zone`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// Agents that were not taken when it was last decided, and why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<CandidateAgent>,
    /// Number of Agents that were not taken and have no place in `candidates`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub candidates_omitted: Option<i64>,
    /// Number of Agents that were not taken for each reason, those without a place in `candidates` included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidate_reasons: Vec<CandidateReason>,
    /// `Ready`, a summary of `AgentRequirementsMet`, `AgentReserved`, `AgentSpecSynced`, `AgentValidated` and `Installed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StandardCondition>,
    /// The last request to install the host again in its cluster; absent: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reinstall: Option<Reinstall>,
    /// Never set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Never set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
}

/// A request to install the host of an AgentMachine again: the value of the annotation
/// [`REINSTALL`](crate::names::annotation::REINSTALL).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReinstallRequest {
    /// Time of the request, RFC 3339. It identifies the request.
    pub requested: String,
    /// The Secret with the bootstrap data that the Machine names for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_secret_name: Option<String>,
}

/// A request to install the host again, and how far that is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reinstall {
    /// Time of the request.
    pub requested: String,
    #[serde(default)]
    pub phase: ReinstallPhase,
    /// What it waits for, or the reason of the end, for users.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Progress of a request to install a host again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReinstallPhase {
    /// It is not passed on to the Agent yet, or the service has not answered.
    #[default]
    Waiting,
    /// The host leaves its installed system.
    Leaving,
    /// The host runs the discovery image, or is being installed.
    Installing,
    /// Its new node is ready.
    Done,
    /// The installation failed, or was ended.
    Failed,
    /// Nothing was done with the host.
    Refused,
}

/// An Agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct AgentReference {
    /// Name of the Agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Namespace of the Agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// An address of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineAddress {
    /// Kind of address: `InternalIP`, `ExternalIP`, `Hostname` or `InternalDNS`.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"]))]
    pub type_: String,
    /// IP address without a prefix length, or name.
    #[schemars(length(min = 1, max = 256))]
    pub address: String,
}

/// An Agent that was not taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateAgent {
    /// Name of the Agent.
    pub name: String,
    /// Namespace of the Agent.
    pub namespace: String,
    /// Reason in one CamelCase word, for programs.
    pub reason: String,
    /// Reason as a sentence, for users.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A reason why Agents were not taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateReason {
    /// Reason in one CamelCase word, for programs.
    pub reason: String,
    /// Number of these Agents.
    #[schemars(schema_with = "schema::integer_from_zero")]
    pub agents: i64,
}
