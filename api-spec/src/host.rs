//! Hosts on the wire. Source: docs/protocol/rest-schemas.json, docs/protocol/rest-behaviour.md#3 and §5, docs/protocol/host-lifecycle.md#1.

mod cleaning;
mod health;
mod history;
mod logs;
mod os_image;
mod stage;

pub use cleaning::{HostCleaned, HostCleanedDisk, HostCleaning};
pub use health::{HostHealth, HostHealthHour, HostHealthWorst};
pub use history::HostStateChange;
pub use logs::{
    HostLogArchive, HostLogFile, HostLogFiles, HostLogLine, HostLogLines, HostLogs, HostLogsState,
};
pub use os_image::{HostOsImage, OsImageChoice};
pub use stage::{HostProgressParams, HostStage};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::ids::{ClusterId, HostId, InfraEnvId};
use crate::serialize::{is_default, null_as_default};

/// Status of a host. Wire names are kebab-case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum HostStatus {
    Discovering,
    Known,
    Disconnected,
    Insufficient,
    Disabled,
    PreparingForInstallation,
    PreparingFailed,
    PreparingSuccessful,
    PendingForInput,
    Installing,
    InstallingInProgress,
    InstallingPendingUserAction,
    ResettingPendingUserAction,
    Installed,
    Error,
    Resetting,
    AddedToExistingCluster,
    Cancelled,
    Binding,
    Unbinding,
    UnbindingPendingUserAction,
    KnownUnbound,
    DisconnectedUnbound,
    InsufficientUnbound,
    DisabledUnbound,
    DiscoveringUnbound,
    Reclaiming,
    ReclaimingRebooting,
}

impl HostStatus {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum HostKind {
    #[default]
    Host,
    AddToExistingClusterHost,
}

/// The part a host plays in a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum HostRole {
    #[default]
    AutoAssign,
    Master,
    Arbiter,
    Worker,
    Bootstrap,
}

impl HostRole {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// `Disconnected` when the medium that a host was booted from can no longer be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum MediaStatus {
    Connected,
    Disconnected,
}

/// Body of `POST /v2/infra-envs/{id}/hosts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct HostCreateParams {
    /// Computed by the agent (docs/protocol/agent-inventory.md#14).
    pub host_id: HostId,
    /// The agent's version or image reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery_agent_version: Option<String>,
}

/// Body of `PATCH /v2/infra-envs/{id}/hosts/{id}`. Absent and `null` leave a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct HostUpdateParams {
    pub host_role: Option<HostRoleUpdate>,
    pub host_name: Option<String>,
    pub disks_selected_config: Option<Vec<DiskConfigParams>>,
    pub disks_skip_formatting: Option<Vec<DiskSkipFormattingParams>>,
    pub machine_config_pool_name: Option<String>,
    pub ignition_endpoint_token: Option<String>,
    pub ignition_endpoint_http_headers: Option<Vec<KeyValue>>,
    pub node_labels: Option<Vec<KeyValue>>,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub fencing_credentials: Option<Value>,
}

/// Body of `POST .../actions/settle-identity`, an addition to the protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SettleIdentityParams {
    /// The host that claimed the same id; absent: every one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_host_id: Option<HostId>,
}

/// The roles a user may give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HostRoleUpdate {
    AutoAssign,
    Master,
    Arbiter,
    Worker,
}

impl From<HostRoleUpdate> for HostRole {
    fn from(role: HostRoleUpdate) -> Self {
        match role {
            HostRoleUpdate::AutoAssign => Self::AutoAssign,
            HostRoleUpdate::Master => Self::Master,
            HostRoleUpdate::Arbiter => Self::Arbiter,
            HostRoleUpdate::Worker => Self::Worker,
        }
    }
}

/// Use of a disk by the installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum DiskRole {
    None,
    Install,
}

/// A user's choice of a disk: by id, by-path or `/dev` name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DiskConfigParams {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<DiskRole>,
}

/// True keeps a disk as it is when the host is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DiskSkipFormattingParams {
    pub disk_id: String,
    pub skip_formatting: bool,
}

/// A node label or an HTTP header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct KeyValue {
    pub key: String,
    pub value: String,
}

/// Body of `PATCH .../installer-args`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct InstallerArgsParams {
    /// Words, a value apart from its flag.
    pub args: Option<Vec<String>>,
}

/// Body of `PATCH .../ignition`, answer of `GET .../ignition`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct HostIgnitionParams {
    /// Ignition JSON.
    pub config: Option<String>,
}

/// Body of `PUT .../logs-progress`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LogsProgressParams {
    pub logs_state: LogsProgressState,
}

/// Progress of the collection of logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum LogsProgressState {
    Requested,
    Collecting,
    Completed,
    Timeout,
    #[default]
    #[serde(rename = "")]
    #[strum(serialize = "")]
    None,
}

impl LogsProgressState {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Progress of an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HostProgressInfo {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub current_stage: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub installation_percentage: i64,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub progress_info: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub stage_timed_out: bool,
    pub stage_started_at: String,
    pub stage_updated_at: String,
}

/// A host as the API answers it. Dates that never happened are the zero date; texts that are empty are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Host {
    pub kind: HostKind,
    pub id: HostId,
    pub href: String,
    pub infra_env_id: InfraEnvId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    /// `null` only in the answer to a repeated registration.
    pub status: Option<HostStatus>,
    /// `null` only in the answer to a repeated registration.
    pub status_info: Option<String>,
    pub status_updated_at: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub validations_info: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub logs_info: String,
    pub logs_collected_at: String,
    pub logs_started_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<HostProgressInfo>,
    pub progress_stages: Option<Vec<String>>,
    pub stage_started_at: String,
    pub stage_updated_at: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub connectivity: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub api_vip_connectivity: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub tang_connectivity: String,
    /// JSON text of an [`Inventory`](crate::inventory::Inventory).
    #[serde(default, skip_serializing_if = "is_default")]
    pub inventory: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub free_addresses: String,
    /// JSON text of a list of [`NtpSource`](crate::steps::NtpSource).
    #[serde(default, skip_serializing_if = "is_default")]
    pub ntp_sources: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub disks_info: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub images_status: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub domain_name_resolutions: String,
    pub role: HostRole,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_role: Option<HostRole>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub bootstrap: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub installer_version: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub installation_disk_path: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub installation_disk_id: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub disks_to_be_formatted: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub skip_formatting_disks: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub connection_timed_out: bool,
    pub checked_in_at: String,
    pub registered_at: String,
    pub created_at: String,
    pub updated_at: String,
    /// Always `null`: deleted hosts are not answered.
    pub deleted_at: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub discovery_agent_version: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub requested_hostname: String,
    pub user_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_status: Option<MediaStatus>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ignition_config_overrides: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub installer_args: String,
    /// The host's clock at its last poll, seconds since 1970.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timestamp: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub machine_config_pool_name: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ignition_endpoint_token_set: bool,
    /// JSON object text.
    #[serde(default, skip_serializing_if = "is_default")]
    pub node_labels: String,
    /// An addition: noteworthy findings beyond the protocol's validations.
    #[serde(default, skip_serializing_if = "is_default")]
    pub findings: Vec<HostFinding>,
    /// An addition: the image that is written to its disk, of the operator's list; kept after its installation. `None` in no cluster,
    /// where none fits, and of hosts that bring their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_image: Option<HostOsImage>,
    /// An addition: installations and nodes that failed on the host since its last success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<HostFailures>,
    /// An addition: the erasure of its disks after it left a cluster; it is not available as long as there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleaning: Option<HostCleaning>,
    /// An addition: the last erasures that are over, the latest last.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cleaned: Vec<HostCleaned>,
    /// An addition: the host sleeps, falls asleep, wakes, or did not wake; its status is that of its pool nevertheless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep: Option<HostSleep>,
    /// An addition: the reports of its sensors, in short. `None` before that, and of hosts with an agent of another make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HostHealth>,
}

/// The sleep of a host: its BMC switched it off, and it stays a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostSleep {
    /// `falling-asleep`, `asleep`, `waking` or `did-not-wake`.
    pub stage: String,
    /// Begin of the stage.
    pub since: String,
    /// Name of the BMC that switches it off and boots it.
    pub bmc: String,
    /// Why it sleeps, is woken or did not wake.
    pub reason: String,
    /// Time of its last registration: the inventory is of that boot.
    pub inventory_of: String,
}

/// Body of `POST .../hosts/{id}/actions/wake`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct HostWakeParams {
    /// It stays awake until a person puts it to sleep.
    pub keep: bool,
}

/// Installations and nodes that failed on a host since its last success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostFailures {
    /// Failures in a row.
    pub count: u32,
    /// Time of the last one.
    pub last_at: String,
    /// Stage or state in which it happened; empty: not known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stage: String,
    /// Its reason.
    #[serde(default, skip_serializing_if = "is_default")]
    pub message: String,
    /// No machine of Cluster API takes the host before; absent in quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
    /// True when no machine takes the host until it is freed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub quarantined: bool,
}

/// Something noteworthy about a host beyond the protocol's validations. Two are the same when `kind`, `about` and `others` are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostFinding {
    /// A stable name in kebab-case, such as `duplicate-address`.
    pub kind: String,
    /// An address, an interface; may be empty.
    #[serde(default, skip_serializing_if = "is_default")]
    pub about: String,
    /// Other hosts that have to do with it, sorted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub others: Vec<HostId>,
    /// A sentence for users: the problem, and a way out.
    pub message: String,
}

/// The command that a registration returns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct NextStepRunnerCommand {
    /// Ignored; services send none.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub command: String,
    /// One argument: JSON text of [`NextStepRunnerArgs`](crate::steps::NextStepRunnerArgs).
    #[serde(deserialize_with = "null_as_default")]
    pub args: Vec<String>,
    /// Seconds to wait after a failed session; 0 means one hour to old agents.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub retry_seconds: i64,
}

/// Response to a registration: the host and the command to continue with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostRegistrationResponse {
    #[serde(flatten)]
    pub host: Host,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step_runner_command: Option<NextStepRunnerCommand>,
}
