use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentReference, StandardCondition, schema};

/// Progress of the machine's discovery, and its findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BMCStatus")]
pub struct BmcStatus {
    /// `waiting`, `checking`, `inserting`, `booting`, `waiting-for-agent`, `discovered`, `failed` or `stopped`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Only in the phase `failed`: `credentials`, `certificate`, `address`, `unreachable`, `system`, `media`, `image`, `boot`, `in-use`,
    /// `no-agent` or `refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the discovery waits for, or why it failed and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Begin of the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// When the phase ends as failed. Without it, the phase has no end of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// True while the image is in a drive of the BMC, or may be because a discovery ended while it was inserted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub medium_inserted: bool,
    /// The Agent that the machine has become.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_ref: Option<AgentReference>,
    /// Id of the host that the machine is.
    #[serde(rename = "hostID", skip_serializing_if = "Option::is_none")]
    pub host_id: Option<String>,
    /// The last checks of the BMC, in order. Nothing is changed before all of them pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<BmcCheckStatus>,
    /// Certificates of the BMC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<BmcCertificateStatus>,
    /// Summary of the machine as its BMC reports it. It is a claim: a BMC may be wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inventory: Option<BmcInventoryStatus>,
    /// Properties of the machine that BMC and agent report with different values, for operators to check: the Agent was found all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<BmcDifferenceStatus>,
    /// Id of the BMC in REST and for `muster bmc`.
    #[serde(rename = "bmcID", skip_serializing_if = "Option::is_none")]
    pub bmc_id: Option<String>,
    /// The last value of the annotation `bmc.muster.dev/discover` that was acted on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_discover: Option<String>,
    /// `metadata.generation` that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `SpecSynced`: the BMC is registered with the settings of the spec. `ChecksPassed`: it can boot its machine. `Discovered`: the
    /// machine is an Agent. `DeletionBlocked` is present while a deletion waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StandardCondition>,
}

/// A check of the BMC.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BmcCheckStatus {
    /// `address`, `certificate`, `credentials`, `system`, `power`, `media` or `image`.
    pub id: String,
    /// `pass`, `fail`, or `skipped`: a check before it failed, or there is nothing to check.
    pub outcome: String,
    /// What was seen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seen: String,
    /// What to do. Only of a failed check.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
}

/// Certificates of a BMC, as SHA-256 with colons.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BmcCertificateStatus {
    /// The one that is trusted. Only for the mode `pin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The one that was presented last, trusted or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
}

/// A machine as its BMC reports it. Values that are left out were not reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BmcInventoryStatus {
    /// Maker of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// Its UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Number of its processors (sockets).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub processors: Option<i64>,
    /// Cores of all processors together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub cores: Option<i64>,
    /// Memory in MiB.
    #[serde(rename = "memoryMiB", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub memory_mib: Option<i64>,
    /// MAC addresses of its network cards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mac_addresses: Vec<String>,
    /// Number of its disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub disks: Option<i64>,
    /// Version of its firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bios_version: Option<String>,
    /// Version of the BMC's firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bmc_version: Option<String>,
    /// `OK`, `Warning` or `Critical`, of all parts together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
}

/// A property that BMC and agent report with different values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BmcDifferenceStatus {
    /// `MAC address`, `UUID`, `serial number`, `memory`, `processors` or `disks`.
    pub what: String,
    /// The value that the BMC reports.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bmc: String,
    /// The value that the agent reports.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
}
