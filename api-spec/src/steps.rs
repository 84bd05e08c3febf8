//! The conversation between a registered host and the service: instructions out, replies in.
//! Source: docs/protocol/agent-protocol.md#4 and docs/protocol/instructions.md.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

mod addresses;
mod api_vip;
mod boot_artifacts;
mod cloud_init;
mod connectivity;
mod disk_speed;
mod domains;
mod erase;
mod health;
mod images;
mod install;
mod logs;
mod ntp;
mod reboot;
mod tang;
mod upgrade;
mod vips;

use crate::ids::{HostId, InfraEnvId};
use crate::serialize::{is_default, null_as_default};

pub use addresses::*;
pub use api_vip::*;
pub use boot_artifacts::*;
pub use cloud_init::*;
pub use connectivity::*;
pub use disk_speed::*;
pub use domains::*;
pub use erase::*;
pub use health::*;
pub use images::*;
pub use install::*;
pub use logs::*;
pub use ntp::*;
pub use reboot::*;
pub use tang::*;
pub use upgrade::*;
pub use vips::*;

/// Kind of instruction for a host. Wire names are kebab-case. `reboot-node`, `erase-disks` and `health` are our additions to the protocol's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum StepType {
    ConnectivityCheck,
    Execute,
    Inventory,
    Install,
    FreeNetworkAddresses,
    DhcpLeaseAllocate,
    ApiVipConnectivityCheck,
    TangConnectivityCheck,
    NtpSynchronizer,
    InstallationDiskSpeedCheck,
    ContainerImageAvailability,
    DomainResolution,
    StopInstallation,
    LogsGather,
    NextStepRunner,
    UpgradeAgent,
    DownloadBootArtifacts,
    RebootForReclaim,
    VerifyVips,
    RebootNode,
    EraseDisks,
    Health,
}

impl StepType {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One thing to do. `step_type` stays text here, so that an agent can answer "unknown step" to a newer service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Step {
    /// See [`StepType`].
    #[serde(deserialize_with = "null_as_default")]
    pub step_type: String,
    /// `<step_type>-<8 hex digits>`; absent on upgrade-agent.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub step_id: String,
    /// Arguments; structured ones are JSON text.
    #[serde(deserialize_with = "null_as_default")]
    pub args: Vec<String>,
}

/// Action of a host after it has started its steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum PostStepAction {
    /// Poll again after `next_instruction_seconds`.
    #[default]
    Continue,
    /// Wait `next_instruction_seconds`, end the session, register again.
    Exit,
}

/// The answer to a poll.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Steps {
    /// Absent when zero.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub next_instruction_seconds: i64,
    /// Missing means `continue`.
    #[serde(deserialize_with = "null_as_default")]
    pub post_step_action: PostStepAction,
    /// `null` when there is nothing to do.
    pub instructions: Option<Vec<Step>>,
}

/// A host's reply to a step. Zero members are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[serde(deny_unknown_fields)]
pub struct StepReply {
    /// Only this is used for routing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_type: Option<StepType>,
    /// As sent; only logged.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub step_id: String,
    /// 0 good; -1 internal or invalid arguments; 124 deadline; 256 installation media lost.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub exit_code: i64,
    /// JSON text for structured replies.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub output: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub error: String,
}

/// The JSON text in `next_step_runner_command.args[0]` of a registration's answer. All three are required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextStepRunnerArgs {
    /// The version that the host shall report from now on.
    pub agent_version: String,
    /// The id that the host has from now on.
    pub host_id: HostId,
    pub infra_env_id: InfraEnvId,
}
