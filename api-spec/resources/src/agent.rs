//! An Agent: one host (docs/protocol/kube-controllers.md#3).

pub mod inventory;
mod reboot;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::absent_is_default;
use crate::{ClusterReference, Condition, NamespacedReference, ValidationsInfo, schema};

pub use reboot::{AgentReboot, AgentRebootOutcome};

/// Desired settings of the host.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[schemars(rename = "AgentSpec")]
#[kube(
    group = "agent-install.openshift.io",
    version = "v1beta1",
    kind = "Agent",
    plural = "agents",
    namespaced,
    status = "AgentStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A machine that booted the discovery image of an InfraEnv. It appears by itself, named by the machine's id; users or controllers approve it and assign it.",
    printcolumn(
        name = "Cluster",
        json_path = ".spec.clusterDeploymentName.name",
        type_ = "string",
        description = "The cluster that the host belongs to"
    ),
    printcolumn(
        name = "Approved",
        json_path = ".spec.approved",
        type_ = "boolean",
        description = "True when the host may join a cluster"
    ),
    printcolumn(
        name = "Role",
        json_path = ".status.role",
        type_ = "string",
        description = "The role of the host in its cluster"
    ),
    printcolumn(
        name = "Stage",
        json_path = ".status.progress.currentStage",
        type_ = "string",
        description = "Stage of the installation"
    ),
    printcolumn(
        name = "Hostname",
        json_path = ".status.inventory.hostname",
        type_ = "string",
        description = "The name that the host reports",
        priority = 1
    ),
    printcolumn(
        name = "Requested Hostname",
        json_path = ".spec.hostname",
        type_ = "string",
        description = "The name that the host shall have",
        priority = 1
    ),
    printcolumn(
        name = "Requirements",
        json_path = ".status.conditions[?(@.type=='RequirementsMet')].reason",
        type_ = "string",
        description = "Whether the host can be installed, or what keeps it from that",
        priority = 1
    ),
    printcolumn(
        name = "Why",
        json_path = ".status.conditions[?(@.type=='RequirementsMet')].message",
        type_ = "string",
        description = "The same in words",
        priority = 1
    )
)]
pub struct AgentSpec {
    /// The cluster that the host belongs to, or shall join. Without it the host is unbound; removing it unbinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_deployment_name: Option<ClusterReference>,
    /// `auto-assign`, `master`, `arbiter` or `worker`. Empty leaves the choice to the service.
    pub role: String,
    /// Name that the host gets. Empty keeps the name that the host reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Name of the MachineConfigPool that the host joins as a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_config_pool: Option<String>,
    /// True when the host may join a cluster. Nothing is installed on a host that is not approved.
    pub approved: bool,
    /// The disk to install to: `id` of one in `status.inventory.disks`. Not together with `installation_disk_path`.
    #[serde(rename = "installation_disk_id", skip_serializing_if = "Option::is_none")]
    pub installation_disk_id: Option<String>,
    /// The disk to install to, by path: its `byPath`, or `/dev/` and its name. Not together with `installation_disk_id`.
    #[serde(rename = "installation_disk_path", skip_serializing_if = "Option::is_none")]
    pub installation_disk_path: Option<String>,
    /// Arguments for the program that writes the disk: a JSON array of strings, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installer_args: Option<String>,
    /// Ignition (JSON) that is merged over what the installed host would have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_config_overrides: Option<String>,
    /// Secret with the token for the cluster's Ignition endpoint, under the key `ignition-token`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint_token_reference: Option<NamespacedReference>,
    /// HTTP headers that the host sends in requests to the cluster's Ignition endpoint.
    #[serde(
        rename = "ignitionEndpointHTTPHeaders",
        default,
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub ignition_endpoint_http_headers: BTreeMap<String, String>,
    /// Labels that the node gets when it has joined.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: BTreeMap<String, String>,
    /// Name of a Secret in the Agent's namespace with the management controller's `address`, `username`, `password` and, optionally,
    /// `certificateVerification`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fencing_credentials_secret_ref: Option<String>,
}
absent_is_default!(AgentSpec);

/// Observed state of the host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStatus {
    /// True when the host runs the cluster's bootstrap during the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<bool>,
    /// The host's role: the requested one, or the one that the service suggests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Hardware and network as the host reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inventory: Option<inventory::HostInventory>,
    /// Progress of the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<HostProgress>,
    /// The time servers of the host, and their state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ntp_sources: Vec<NtpSource>,
    /// `SpecSynced`, `Connected`, `RequirementsMet`, `Validated`, `Installed`, `Bound`; `Cleanup` when a deletion is stuck;
    /// `NetworkAsConfigured` once the host's network differed from its settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The host's state, and URLs for troubleshooting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_info: Option<AgentDebugInfo>,
    /// Results of all validations, by category.
    #[serde(default, skip_serializing_if = "ValidationsInfo::is_empty")]
    pub validations_info: ValidationsInfo,
    /// The disk that will be installed to: `id` of one in `inventory.disks`.
    #[serde(rename = "installation_disk_id", skip_serializing_if = "Option::is_none")]
    pub installation_disk_id: Option<String>,
    /// `Host` for one that a new cluster is made of, `AddToExistingClusterHost` for one that joins a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Certificate requests of the node that were approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csr_status: Option<CsrStatus>,
    /// Generation of the spec that the conditions are about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The node that is still to be removed from the cluster that the host left.
    #[serde(rename = "deprovision_info", skip_serializing_if = "Option::is_none")]
    pub deprovision_info: Option<DeprovisionInfo>,
    /// Installations and nodes that failed on the host since its last success. AgentMachines take other Agents meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<AgentFailures>,
    /// The erasure of the host's disks after it left a cluster, or the last one that is over. AgentMachines take other Agents as long as it
    /// is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleaning: Option<AgentCleaning>,
    /// The host sleeps: its management controller has switched it off. AgentMachines may take it, which wakes it; its conditions stay as they
    /// were when it was awake. Absent: it is awake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sleep: Option<AgentSleep>,
}

/// The sleep of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSleep {
    /// `FallingAsleep`, `Asleep`, `Waking` or `DidNotWake`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Begin of the stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_time: Option<Time>,
    /// Why it sleeps, is woken or did not wake, and by which management controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Time of the boot that the inventory is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inventory_time: Option<Time>,
}

/// The erasure of the disks of a host that left a cluster. The annotation `agent.agent-install.openshift.io/erase` with the value `retry` or
/// `skip` on the Agent frees a host on which it failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCleaning {
    /// `Waiting`, `Erasing` or `Failed` of one that is pending; `Erased`, `NotErased` or `Skipped` of one that is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// How far it is, why it failed, or the evidence, as sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `metadata`, `full` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<String>,
    /// Time at which the host left its cluster, or at which it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Time by which it must have progressed again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_time: Option<Time>,
    /// The disks of the erasure, once it has begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<AgentCleanedDisk>,
}

/// A disk of an erasure, and what the host's agent reported about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCleanedDisk {
    /// `id` of the inventory.
    pub id: String,
    /// Serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// World-wide name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// Size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<i64>,
    /// `waiting`, `erasing`, `erased`, `failed`, or `not-present`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// `metadata`, `nvme-sanitize`, `nvme-format`, `ata-secure-erase`, `discard` or `overwrite`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Bytes that are erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_done: Option<i64>,
    /// Seconds since the erasure of the disk began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,
    /// Sectors that were read back after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<i64>,
    /// Reason of a failure, or why another method was not possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Installations and nodes that failed on a host. The annotation `agent.agent-install.openshift.io/forget-failures` with the value
/// `true` on the Agent ends it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentFailures {
    /// Failures in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub count: Option<i64>,
    /// Time of the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_time: Option<Time>,
    /// The last one, and its consequence, as sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// No AgentMachine takes the Agent before. Absent in quarantine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_time: Option<Time>,
    /// True when no AgentMachine takes the Agent until it is freed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quarantined: bool,
}

/// Progress of an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostProgress {
    /// The stage that the host is in, such as `Writing image to disk`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_stage: Option<String>,
    /// Details of the stage, such as a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_info: Option<String>,
    /// Percentage of the installation that is done, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installation_percentage: Option<i64>,
    /// Time at which the stage began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage_start_time: Option<Time>,
    /// Time of the host's last report about the stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage_update_time: Option<Time>,
    /// The stages of this host, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress_stages: Vec<String>,
}

/// A time server as the host reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NtpSource {
    /// Name or address of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_name: Option<String>,
    /// `synced`, `combined`, `not_combined`, `error`, `variable` or `unreachable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_state: Option<String>,
}

/// The host's state, and URLs for troubleshooting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentDebugInfo {
    /// URL of the events of the host (JSON). Only while it is bound.
    #[serde(rename = "eventsURL", skip_serializing_if = "Option::is_none")]
    pub events_url: Option<String>,
    /// URL of the host's logs.
    #[serde(rename = "logsURL", skip_serializing_if = "Option::is_none")]
    pub logs_url: Option<String>,
    /// State of the host, such as `known-unbound` or `installing-in-progress`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Reason for the state, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_info: Option<String>,
}

/// Certificate requests of the node that were approved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CsrStatus {
    /// The approved requests.
    #[serde(rename = "approvedCSRs", default, skip_serializing_if = "Vec::is_empty")]
    pub approved_csrs: Vec<ApprovedCsr>,
    /// Time of the last search for requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_approval_attempt: Option<Time>,
}

/// A certificate request that was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedCsr {
    /// Name of the CertificateSigningRequest.
    pub name: String,
    /// `client` or `serving`.
    #[serde(rename = "type")]
    pub type_: String,
    /// Time of the approval.
    pub approved_at: Time,
}

/// The node that is still to be removed from the cluster that the host left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeprovisionInfo {
    /// Name of the ClusterDeployment that the host left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// Namespace of that ClusterDeployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_namespace: Option<String>,
    /// Name that the host had as a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// State of the removal, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
