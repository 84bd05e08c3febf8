//! Defines the stages of an installation. Source: docs/protocol/host-lifecycle.md#5.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// Stages of an installation, with the words of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
pub enum HostStage {
    #[serde(rename = "Starting installation")]
    #[strum(serialize = "Starting installation")]
    StartingInstallation,
    #[serde(rename = "Waiting for control plane")]
    #[strum(serialize = "Waiting for control plane")]
    WaitingForControlPlane,
    #[serde(rename = "Waiting for bootkube")]
    #[strum(serialize = "Waiting for bootkube")]
    WaitingForBootkube,
    #[serde(rename = "Waiting for controller")]
    #[strum(serialize = "Waiting for controller")]
    WaitingForController,
    Installing,
    #[serde(rename = "Writing image to disk")]
    #[strum(serialize = "Writing image to disk")]
    WritingImageToDisk,
    #[serde(rename = "Copying registry data to disk")]
    #[strum(serialize = "Copying registry data to disk")]
    CopyingRegistryDataToDisk,
    Rebooting,
    #[serde(rename = "Waiting for ignition")]
    #[strum(serialize = "Waiting for ignition")]
    WaitingForIgnition,
    Configuring,
    Joined,
    Done,
    Failed,
}

impl HostStage {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Body of `PUT .../progress`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct HostProgressParams {
    pub current_stage: Option<HostStage>,
    pub progress_info: Option<String>,
}
