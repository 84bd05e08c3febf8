//! Plans the steps of a host. Source: docs/protocol/instructions.md#2 and §3.

use chrono::Duration;
use muster_api::infra_env::CleaningDepth;
use muster_api::steps::{PostStepAction, Step, StepType, Steps, UpgradeAgentRequest};

use super::arguments;
use crate::json::to_json;
use crate::record::{CleaningStage, Host, HostState, NodeAgent, Phase, ReinstallStep};
use crate::rules::facts::HostFacts;
use crate::rules::{agent_version, stages};

/// Seconds until the next poll.
const USUAL_SECS: i64 = 60;
/// Seconds until the next poll of a host without urgent reports.
const SLOW_SECS: i64 = 120;
/// Seconds until the next poll of our agents where users or controllers may be waiting: to notice that a host was
/// unbound.
const OWN_SECS: i64 = 30;
/// Seconds until the next poll of our agents on approved hosts: to notice that a Machine has claimed the host.
const APPROVED_SECS: i64 = 20;
/// Seconds until the next poll of our agents on hosts that are entering a cluster: each poll may bring the next step.
const ENTERING_SECS: i64 = 10;
/// A host that has been in its present state for less than this is still entering its cluster.
const ENTERING_FOR: Duration = Duration::minutes(2);
/// Seconds until the next poll of a node that is leaving its cluster.
const LEAVING_SECS: i64 = 10;

/// Seconds until the next poll of our agents while the erasure of metadata begins or runs, which takes seconds.
const ERASING_SECS: i64 = 10;

/// The instructions of a state.
struct Plan {
    steps: &'static [StepType],
    next_secs: i64,
    then: PostStepAction,
}

/// Returns the response to a poll. `step_id` makes ids: `<step type>-<8 hex digits>`.
///
/// A step without complete arguments is left out; the others are sent.
pub fn instructions(
    host: &Host,
    facts: &HostFacts<'_>,
    step_id: &mut dyn FnMut(StepType) -> String,
) -> Steps {
    if let Some(image) = upgrade(host, facts) {
        return upgrade_to(image);
    }
    let plan = plan(host);
    let mut asked: Vec<(StepType, Vec<String>)> = plan
        .steps
        .iter()
        .filter_map(|step| Some((*step, arguments::of(*step, host, facts)?)))
        .collect();
    // Disks that are erased get no further commands.
    if asked.iter().all(|(step, _)| *step != StepType::EraseDisks) {
        asked.extend(health(host, plan.steps).map(|args| (StepType::Health, args)));
    }
    // Logs that are due without a request are uploaded to the cluster, where the operator finds them, too.
    if asked.iter().all(|(step, _)| *step != StepType::LogsGather) {
        asked.extend(arguments::of_asked_logs(host).map(|args| (StepType::LogsGather, args)));
    }
    asked.extend(arguments::of_asked_reboot(host, facts).map(|args| (StepType::RebootNode, args)));
    let instructions: Vec<Step> = asked
        .into_iter()
        .map(|(step, args)| Step {
            step_type: step.name().into(),
            step_id: step_id(step),
            args,
        })
        .collect();
    Steps {
        next_instruction_seconds: next_secs(host, facts),
        post_step_action: plan.then,
        instructions: (!instructions.is_empty()).then_some(instructions),
    }
}

/// The arguments of the step about its health, which our agents get wherever they are to report their inventory. It is no part of the
/// protocol.
fn health(host: &Host, steps: &[StepType]) -> Option<Vec<String>> {
    let is_own = agent_version::is_own(&host.data.discovery_agent_version);
    (is_own && steps.contains(&StepType::Inventory)).then(arguments::of_health)
}

/// Seconds until the host's next poll.
pub fn next_secs(host: &Host, facts: &HostFacts<'_>) -> i64 {
    if upgrade(host, facts).is_some() {
        return USUAL_SECS;
    }
    let planned = plan(host).next_secs;
    awaited_secs(host, facts).map_or(planned, |awaited| awaited.min(planned))
}

/// True when the arguments for a host in this state need its inventory, which polls otherwise do not read.
pub fn needs_inventory(state: &HostState) -> bool {
    *state == HostState::Installing
}

/// The image to which the host's agent must upgrade, if any: only for upstream agents of another image than the one set
/// for them, while the host is not installed and can be reached.
pub fn upgrade<'a>(host: &Host, facts: &HostFacts<'a>) -> Option<&'a str> {
    let image = facts.agent_image?;
    let present = &host.data.discovery_agent_version;
    let open = match host.state.phase() {
        Phase::Unbound | Phase::PreInstall => !host.state.waits_for_poll(),
        Phase::Moving => host.state == HostState::Binding,
        Phase::Installing | Phase::Ended => false,
    };
    (open && !agent_version::is_own(present) && present != image).then_some(image)
}

/// All other steps wait; this step has no id in the protocol.
fn upgrade_to(image: &str) -> Steps {
    let request = UpgradeAgentRequest {
        agent_image: image.to_owned(),
        program: None,
    };
    Steps {
        next_instruction_seconds: USUAL_SECS,
        post_step_action: PostStepAction::Continue,
        instructions: Some(vec![Step {
            step_type: StepType::UpgradeAgent.name().into(),
            step_id: String::new(),
            args: vec![to_json(&request)],
        }]),
    }
}

fn plan(host: &Host) -> Plan {
    use StepType::{
        ApiVipConnectivityCheck, ConnectivityCheck, DomainResolution, DownloadBootArtifacts, EraseDisks,
        Install, Inventory, LogsGather, NtpSynchronizer, RebootForReclaim, StopInstallation,
        TangConnectivityCheck,
    };

    let usual = |steps: &'static [StepType]| Plan {
        steps,
        next_secs: USUAL_SECS,
        then: PostStepAction::Continue,
    };
    let slow = |steps: &'static [StepType]| Plan {
        next_secs: SLOW_SECS,
        ..usual(steps)
    };
    let exit = |next_secs, steps: &'static [StepType]| Plan {
        steps,
        next_secs,
        then: PostStepAction::Exit,
    };
    let is_own = agent_version::is_own(&host.data.discovery_agent_version);
    let every = |next_secs, steps: &'static [StepType]| Plan {
        next_secs,
        ..usual(steps)
    };
    match &host.state {
        HostState::DiscoveringUnbound if host.data.cleaning.is_some() => {
            every(erasing_secs(host), &[EraseDisks, Inventory, NtpSynchronizer])
        }
        HostState::DiscoveringUnbound | HostState::KnownUnbound | HostState::InsufficientUnbound { .. } => {
            usual(&[Inventory, NtpSynchronizer])
        }
        HostState::DisconnectedUnbound | HostState::Disconnected => slow(&[Inventory]),
        HostState::Discovering => usual(&[Inventory, NtpSynchronizer, DomainResolution]),
        HostState::Known => usual(&[
            ConnectivityCheck,
            ApiVipConnectivityCheck,
            TangConnectivityCheck,
            Inventory,
            NtpSynchronizer,
            DomainResolution,
        ]),
        HostState::Insufficient { .. } => usual(&[
            Inventory,
            ConnectivityCheck,
            ApiVipConnectivityCheck,
            TangConnectivityCheck,
            NtpSynchronizer,
            DomainResolution,
        ]),
        HostState::PendingForInput { .. } => usual(&[
            Inventory,
            ConnectivityCheck,
            ApiVipConnectivityCheck,
            TangConnectivityCheck,
        ]),
        HostState::Installing => usual(&[Install]),
        HostState::ResettingPendingUserAction
            if host.data.reinstall_step() == Some(ReinstallStep::Download) =>
        {
            every(LEAVING_SECS, &[DownloadBootArtifacts])
        }
        HostState::ResettingPendingUserAction
            if host.data.reinstall_step() == Some(ReinstallStep::Reboot) =>
        {
            exit(SLOW_SECS, &[RebootForReclaim])
        }
        // Only the agent of the node polls: it waits for requests, and never registers.
        _ if host.data.node_agent != NodeAgent::Absent && waits_on_node(&host.state) => every(OWN_SECS, &[]),
        // Our agent ends its work on exit: an installation must not continue after a reset.
        HostState::ResettingPendingUserAction if is_own && stages::has_agent(&host.data) => exit(0, &[]),
        HostState::InstallingInProgress
        | HostState::InstallingPendingUserAction { .. }
        | HostState::AddedToExistingCluster
        | HostState::ResettingPendingUserAction => usual(&[]),
        HostState::Error | HostState::Cancelled if is_own => every(OWN_SECS, &[LogsGather, StopInstallation]),
        HostState::Error | HostState::Cancelled => slow(&[LogsGather, StopInstallation]),
        HostState::Binding | HostState::Unbinding | HostState::UnbindingPendingUserAction => exit(0, &[]),
        HostState::Reclaiming if is_own => every(LEAVING_SECS, &[DownloadBootArtifacts]),
        HostState::Reclaiming => usual(&[DownloadBootArtifacts]),
        HostState::ReclaimingRebooting => exit(SLOW_SECS, &[RebootForReclaim]),
    }
}

/// Seconds until the next poll of a host whose disks are to be erased.
fn erasing_secs(host: &Host) -> i64 {
    let cleaning = host.data.cleaning.as_ref();
    let is_long = cleaning.is_some_and(|cleaning| cleaning.settings.depth == CleaningDepth::Full);
    let is_own = agent_version::is_own(&host.data.discovery_agent_version);
    match cleaning.map(|cleaning| &cleaning.stage) {
        Some(CleaningStage::Erasing { .. }) if is_long => OWN_SECS,
        Some(CleaningStage::Erasing { .. } | CleaningStage::Waiting { .. }) if is_own => ERASING_SECS,
        _ => USUAL_SECS,
    }
}

/// Seconds until the next poll of our agent if users or controllers may be waiting for it: a free, approved host may
/// have been claimed by a Machine, and a host that has just entered its state on the way to an installation may
/// continue. Hosts that stay in such a state, since they are unfit or not started, poll at the usual interval.
fn awaited_secs(host: &Host, facts: &HostFacts<'_>) -> Option<i64> {
    if !agent_version::is_own(&host.data.discovery_agent_version) {
        return None;
    }
    let is_recent = || facts.seen(host) - host.data.status_updated_at < ENTERING_FOR;
    match &host.state {
        HostState::DiscoveringUnbound | HostState::KnownUnbound => {
            host.data.approved.then_some(APPROVED_SECS)
        }
        state if state.phase() == Phase::PreInstall && is_recent() => Some(ENTERING_SECS),
        _ => None,
    }
}

/// True for states of installed hosts in which the node agent polls.
fn waits_on_node(state: &HostState) -> bool {
    matches!(
        state,
        HostState::AddedToExistingCluster
            | HostState::UnbindingPendingUserAction
            | HostState::ResettingPendingUserAction
    )
}
