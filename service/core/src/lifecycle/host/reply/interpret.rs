//! Turns a host's reply to a step into events. Source: docs/protocol/instructions.md#4 and §5.

use muster_api::inventory::Inventory;
use muster_api::steps::{
    ContainerImageAvailabilityResponse, DiskSpeedCheckResponse, EraseDisksResponse, HealthReport,
    NtpSynchronizationResponse, StepReply, StepType, TangConnectivityResponse,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::json;
use super::limits::{BadReply, Limits};
use crate::json::to_json;
use crate::lifecycle::host::event::HostEvent;
use crate::text::one_line;

/// Exit code of a step that could not read the boot medium.
const MEDIA_LOST: i64 = 256;
/// Of `podman`, if a container of that name exists; agents of another make run their installer in one.
const NAME_TAKEN: (i64, &str) = (125, "the container name \"assisted-installer\" is already in use");
/// Longest error text that is kept, bytes.
const MAX_ERROR: usize = 4096;

/// Returns the events of a reply; for replies without an effect of their own, see [`ignored_because`].
///
/// A successful reply also means that the boot medium can be read: reports imply that, others give
/// [`HostEvent::MediaBack`]. A failed step is never an error of the agent's request: if its event is refused, or its
/// output cannot be read, that is only logged (204).
///
/// # Errors
/// If the output of a successful step is too large or not of the step's form.
pub fn interpret(reply: &StepReply, limits: &Limits) -> Result<Vec<HostEvent>, BadReply> {
    if reply.exit_code == MEDIA_LOST {
        return Ok(vec![HostEvent::MediaLost]);
    }
    if reply.exit_code != 0 {
        let event = match step_of(reply) {
            Some(step) => failed(step, reply, limits),
            None => Some(HostEvent::StepFailed {
                exit_code: reply.exit_code,
                reason: one_line(&reply.error, MAX_ERROR),
            }),
        };
        return Ok(event.into_iter().collect());
    }
    let Some(step) = reply.step_type else {
        return Err(BadReply::NoStepType);
    };
    let (name, output) = (step.name(), reply.output.as_str());
    let event = match step {
        StepType::Inventory => {
            let mut inventory: Inventory = typed(name, output, limits)?;
            keep_real_interfaces(&mut inventory);
            HostEvent::InventoryReported(inventory)
        }
        StepType::NtpSynchronizer => {
            let response: NtpSynchronizationResponse = typed(name, output, limits)?;
            HostEvent::NtpReported(response.ntp_sources)
        }
        StepType::ConnectivityCheck => HostEvent::ConnectivityReported(typed(name, output, limits)?),
        StepType::FreeNetworkAddresses => HostEvent::FreeAddressesReported(listed(name, output, limits)?),
        StepType::DomainResolution => HostEvent::DomainsReported(typed(name, output, limits)?),
        StepType::ApiVipConnectivityCheck => HostEvent::ApiVipReported(typed(name, output, limits)?),
        StepType::TangConnectivityCheck => {
            // Kept as text, in the form of the schema.
            let response: TangConnectivityResponse = typed(name, output, limits)?;
            HostEvent::TangReported(to_json(&response))
        }
        StepType::InstallationDiskSpeedCheck | StepType::ContainerImageAvailability if output.is_empty() => {
            HostEvent::MediaBack
        }
        StepType::InstallationDiskSpeedCheck => disk_speed(0, typed(name, output, limits)?),
        StepType::ContainerImageAvailability => {
            let response: ContainerImageAvailabilityResponse = typed(name, output, limits)?;
            HostEvent::ImagesReported(response.images)
        }
        StepType::VerifyVips => HostEvent::VipsVerified(listed(name, output, limits)?),
        StepType::UpgradeAgent => HostEvent::UpgradeReported(typed(name, output, limits)?),
        StepType::DownloadBootArtifacts => HostEvent::BootArtifactsDownloaded,
        StepType::RebootNode => HostEvent::RebootReported { failure: None },
        StepType::EraseDisks => {
            let response: EraseDisksResponse = typed(name, output, limits)?;
            HostEvent::ErasureReported(response)
        }
        StepType::Health => {
            let report: HealthReport = typed(name, output, limits)?;
            HostEvent::HealthReported(report)
        }
        StepType::DhcpLeaseAllocate => {
            json::read(name, output, limits)?;
            HostEvent::MediaBack
        }
        StepType::Execute
        | StepType::Install
        | StepType::StopInstallation
        | StepType::LogsGather
        | StepType::NextStepRunner
        | StepType::RebootForReclaim => HostEvent::MediaBack,
    };
    Ok(vec![event])
}

/// The step of a reply. A reply about a failed step may lack the type: agents of another make omit it for steps that
/// they could not run. The id contains it, too: `<step type>-<8 hex digits>`.
pub fn step_of(reply: &StepReply) -> Option<StepType> {
    let by_id = || {
        let (name, _) = reply.step_id.rsplit_once('-')?;
        name.parse().ok()
    };
    reply.step_type.or_else(by_id)
}

/// The event of a failed step.
fn failed(step: StepType, reply: &StepReply, limits: &Limits) -> Option<HostEvent> {
    let (name, output) = (step.name(), reply.output.as_str());
    match step {
        StepType::Install => {
            let (code, message) = NAME_TAKEN;
            let runs_already = reply.exit_code == code && reply.error.contains(message);
            let reason = one_line(&reply.error, MAX_ERROR);
            (!runs_already).then_some(HostEvent::InstallationFailed { reason })
        }
        StepType::ContainerImageAvailability => {
            let response: ContainerImageAvailabilityResponse = typed(name, output, limits).ok()?;
            Some(HostEvent::ImagesReported(response.images))
        }
        StepType::InstallationDiskSpeedCheck => {
            Some(disk_speed(reply.exit_code, typed(name, output, limits).ok()?))
        }
        StepType::TangConnectivityCheck => Some(HostEvent::TangReported(one_line(&reply.error, MAX_ERROR))),
        StepType::DownloadBootArtifacts => Some(HostEvent::BootArtifactsFailed),
        StepType::RebootNode => Some(HostEvent::RebootReported {
            failure: Some(one_line(&reply.error, MAX_ERROR)),
        }),
        StepType::EraseDisks => Some(HostEvent::ErasureRefused {
            reason: one_line(&reply.error, MAX_ERROR),
        }),
        StepType::LogsGather => Some(HostEvent::LogsNotSent {
            reason: one_line(&reply.error, MAX_ERROR),
        }),
        StepType::Inventory
        | StepType::Health
        | StepType::NtpSynchronizer
        | StepType::ConnectivityCheck
        | StepType::FreeNetworkAddresses
        | StepType::DhcpLeaseAllocate
        | StepType::ApiVipConnectivityCheck
        | StepType::DomainResolution
        | StepType::VerifyVips
        | StepType::UpgradeAgent
        | StepType::Execute
        | StepType::StopInstallation
        | StepType::NextStepRunner
        | StepType::RebootForReclaim => None,
    }
}

fn disk_speed(exit_code: i64, response: DiskSpeedCheckResponse) -> HostEvent {
    HostEvent::DiskSpeedReported { exit_code, response }
}

/// The reason why a reply has no effect beyond the boot medium's state, for the debug log; `None` if it has one.
pub fn ignored_because(step: StepType, exit_code: i64) -> Option<&'static str> {
    if exit_code == MEDIA_LOST {
        return None;
    }
    match step {
        StepType::Inventory
        | StepType::Health
        | StepType::NtpSynchronizer
        | StepType::ConnectivityCheck
        | StepType::FreeNetworkAddresses
        | StepType::ApiVipConnectivityCheck
        | StepType::DomainResolution
        | StepType::UpgradeAgent => {
            (exit_code != 0).then_some("the step failed on the host, and is requested again")
        }
        StepType::TangConnectivityCheck
        | StepType::InstallationDiskSpeedCheck
        | StepType::ContainerImageAvailability
        | StepType::DownloadBootArtifacts
        | StepType::RebootNode
        | StepType::EraseDisks => None,
        StepType::Install => (exit_code == 0).then_some("its progress shows how the installation goes"),
        StepType::Execute | StepType::NextStepRunner => Some("this step is never requested"),
        StepType::LogsGather => (exit_code == 0).then_some("the upload has reported the result"),
        StepType::RebootForReclaim | StepType::StopInstallation => {
            Some("the protocol gives this reply no meaning")
        }
        StepType::DhcpLeaseAllocate | StepType::VerifyVips => {
            Some("this step is not requested from hosts that are added to a cluster")
        }
    }
}

/// Removes virtual interfaces, which change; an interface without a kind counts as real, as does a bridge of the default route.
fn keep_real_interfaces(inventory: &mut Inventory) {
    let Inventory {
        interfaces, routes, ..
    } = inventory;
    let has_default_route = |name: &str| {
        let mut routes = routes.iter();
        routes.any(|route| route.interface == name && matches!(route.destination.as_str(), "0.0.0.0" | "::"))
    };
    interfaces.retain(|interface| match interface.kind.as_str() {
        "" | "physical" | "bond" | "vlan" => true,
        "bridge" => has_default_route(&interface.name),
        _ => false,
    });
}

fn typed<T: DeserializeOwned>(step: &'static str, text: &str, limits: &Limits) -> Result<T, BadReply> {
    let value = json::read(step, text, limits)?;
    if !value.is_object() {
        return Err(not_understood(step, "an object is expected"));
    }
    shaped(step, value)
}

/// A list; `null` is an empty one.
fn listed<T: DeserializeOwned>(step: &'static str, text: &str, limits: &Limits) -> Result<Vec<T>, BadReply> {
    let value = json::read(step, text, limits)?;
    if value.is_null() {
        return Ok(Vec::new());
    }
    if !value.is_array() {
        return Err(not_understood(step, "a list is expected"));
    }
    shaped(step, value)
}

fn shaped<T: DeserializeOwned>(step: &'static str, value: Value) -> Result<T, BadReply> {
    serde_path_to_error::deserialize(value).map_err(|error| not_understood(step, &error.to_string()))
}

fn not_understood(step: &'static str, problem: &str) -> BadReply {
    BadReply::NotUnderstood {
        step,
        problem: problem.to_owned(),
    }
}
