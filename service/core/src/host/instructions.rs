//! What a host is asked to do. Source: instructions.md §2 and §3.

use muster_api::steps::{NtpSynchronizationRequest, PostStepAction, Step, StepType, Steps};

use super::facts::HostFacts;
use super::{Host, HostState};

/// Seconds until the next poll.
const USUAL_SECS: i64 = 60;
/// Seconds until the next poll of a host that is not expected to have news.
const SLOW_SECS: i64 = 120;

/// The answer to a poll. `step_id` makes ids: `<step type>-<8 hex digits>`.
pub fn instructions(
    host: &Host,
    facts: &HostFacts<'_>,
    step_id: &mut dyn FnMut(StepType) -> String,
) -> Steps {
    let (steps, next_instruction_seconds): (&[StepType], i64) = match host.state {
        HostState::DiscoveringUnbound | HostState::KnownUnbound | HostState::InsufficientUnbound { .. } => {
            (&[StepType::Inventory, StepType::NtpSynchronizer], USUAL_SECS)
        }
        HostState::DisconnectedUnbound => (&[StepType::Inventory], SLOW_SECS),
    };
    let instructions = steps
        .iter()
        .filter_map(|step| {
            Some(Step {
                step_type: step.name().into(),
                step_id: step_id(*step),
                args: arguments(*step, host, facts)?,
            })
        })
        .collect();
    Steps {
        next_instruction_seconds,
        post_step_action: PostStepAction::Continue,
        instructions: Some(instructions),
    }
}

/// `None` for steps that hosts of the pool are never asked to do.
fn arguments(step: StepType, host: &Host, facts: &HostFacts<'_>) -> Option<Vec<String>> {
    match step {
        StepType::Inventory => Some(vec![host.id.to_string()]),
        StepType::NtpSynchronizer => {
            let request = NtpSynchronizationRequest {
                ntp_source: facts.infra_env.ntp_source_list().to_owned(),
            };
            Some(vec![
                serde_json::to_string(&request).expect("texts are always JSON"),
            ])
        }
        StepType::ConnectivityCheck
        | StepType::Execute
        | StepType::Install
        | StepType::FreeNetworkAddresses
        | StepType::DhcpLeaseAllocate
        | StepType::ApiVipConnectivityCheck
        | StepType::TangConnectivityCheck
        | StepType::InstallationDiskSpeedCheck
        | StepType::ContainerImageAvailability
        | StepType::DomainResolution
        | StepType::StopInstallation
        | StepType::LogsGather
        | StepType::NextStepRunner
        | StepType::UpgradeAgent
        | StepType::DownloadBootArtifacts
        | StepType::RebootForReclaim
        | StepType::VerifyVips => None,
    }
}
