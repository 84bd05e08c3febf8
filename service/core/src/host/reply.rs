//! What a host's answer to a step means. Source: instructions.md §4 and §5.
use super::HostEvent;

mod json;

use muster_api::inventory::Inventory;
use muster_api::steps::{NtpSynchronizationResponse, StepReply, StepType};
use serde::de::DeserializeOwned;
use thiserror::Error;

/// How much a reply may hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of `output`.
    pub output_bytes: usize,
    /// Levels of nested JSON.
    pub depth: usize,
    /// Objects, lists and members in all. An inventory of 2000 disks has some 60,000.
    pub values: usize,
    /// Bytes of one text.
    pub text_bytes: usize,
    /// Disks of an inventory.
    pub disks: usize,
    /// Network interfaces of an inventory.
    pub interfaces: usize,
    /// Routes of an inventory.
    pub routes: usize,
    /// GPUs of an inventory.
    pub gpus: usize,
    /// Entries of any other list.
    pub list: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_bytes: 16 << 20,
            depth: 32,
            values: 300_000,
            text_bytes: 256 << 10,
            disks: 2000,
            interfaces: 1024,
            routes: 4096,
            gpus: 1024,
            list: 4096,
        }
    }
}

/// A reply that cannot be used (400). The message says what is wrong with which part.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BadReply {
    #[error("step_type is missing: say which step this is the reply to")]
    NoStepType,
    #[error("the output of {step} is not JSON of the expected form: {problem}")]
    NotUnderstood { step: &'static str, problem: String },
    #[error("the output of {step} has too many {what}: {found}, and at most {limit} are taken")]
    TooMuch {
        step: &'static str,
        what: String,
        found: usize,
        limit: usize,
    },
}

/// The exit code that tells of a lost boot medium.
const MEDIA_LOST: i64 = 256;

/// What happened to the host, by its reply; for replies without an effect of their own, see [`ignored_because`].
///
/// A reply that went well also means that the boot medium can be read: reports say so themselves, others give
/// [`HostEvent::MediaBack`].
///
/// # Errors
/// When the output is too large or not what the step answers.
pub fn interpret(reply: &StepReply, limits: &Limits) -> Result<Vec<HostEvent>, BadReply> {
    let Some(step) = reply.step_type else {
        return Err(BadReply::NoStepType);
    };
    if reply.exit_code == MEDIA_LOST {
        return Ok(vec![HostEvent::MediaLost]);
    }
    if reply.exit_code != 0 {
        return Ok(Vec::new());
    }
    let name = step.name();
    match step {
        StepType::Inventory => {
            let mut inventory: Inventory = typed(name, &reply.output, limits)?;
            inventory.interfaces.retain(|interface| is_real(&interface.kind));
            Ok(vec![HostEvent::InventoryReported(inventory)])
        }
        StepType::NtpSynchronizer => {
            let response: NtpSynchronizationResponse = typed(name, &reply.output, limits)?;
            Ok(vec![HostEvent::NtpReported(response.ntp_sources)])
        }
        StepType::DownloadBootArtifacts => Ok(vec![HostEvent::BootArtifactsDownloaded]),
        StepType::InstallationDiskSpeedCheck | StepType::ContainerImageAvailability
            if reply.output.is_empty() =>
        {
            Ok(vec![HostEvent::MediaBack])
        }
        StepType::InstallationDiskSpeedCheck
        | StepType::ContainerImageAvailability
        | StepType::ConnectivityCheck
        | StepType::FreeNetworkAddresses
        | StepType::DhcpLeaseAllocate
        | StepType::ApiVipConnectivityCheck
        | StepType::TangConnectivityCheck
        | StepType::DomainResolution
        | StepType::UpgradeAgent
        | StepType::VerifyVips => {
            json::read(name, &reply.output, limits)?;
            Ok(vec![HostEvent::MediaBack])
        }
        StepType::Execute
        | StepType::Install
        | StepType::StopInstallation
        | StepType::LogsGather
        | StepType::NextStepRunner
        | StepType::RebootForReclaim => Ok(vec![HostEvent::MediaBack]),
    }
}

/// Why a reply has no effect but to tell of the boot medium, for the debug log; `None` when it has one.
pub fn ignored_because(step: StepType, exit_code: i64) -> Option<&'static str> {
    if exit_code == MEDIA_LOST {
        return None;
    }
    match step {
        StepType::Inventory | StepType::NtpSynchronizer | StepType::DownloadBootArtifacts => {
            (exit_code != 0).then_some("the step failed on the host, which will be asked again")
        }
        StepType::Execute | StepType::NextStepRunner => Some("hosts are never asked to do this"),
        StepType::LogsGather
        | StepType::RebootForReclaim
        | StepType::StopInstallation
        | StepType::Install => Some("the protocol gives this reply no meaning for a host of the pool"),
        StepType::ConnectivityCheck
        | StepType::FreeNetworkAddresses
        | StepType::DhcpLeaseAllocate
        | StepType::ApiVipConnectivityCheck
        | StepType::TangConnectivityCheck
        | StepType::InstallationDiskSpeedCheck
        | StepType::ContainerImageAvailability
        | StepType::DomainResolution
        | StepType::UpgradeAgent
        | StepType::VerifyVips => Some("hosts of the pool are not asked to do this"),
    }
}

/// Virtual interfaces come and go; agents that do not tell the kind are believed.
fn is_real(kind: &str) -> bool {
    matches!(kind, "" | "physical" | "bond" | "vlan")
}

fn typed<T: DeserializeOwned>(step: &'static str, text: &str, limits: &Limits) -> Result<T, BadReply> {
    let value = json::read(step, text, limits)?;
    if !value.is_object() {
        return Err(BadReply::NotUnderstood {
            step,
            problem: "an object is expected".into(),
        });
    }
    serde_path_to_error::deserialize(value).map_err(|error| BadReply::NotUnderstood {
        step,
        problem: error.to_string(),
    })
}
