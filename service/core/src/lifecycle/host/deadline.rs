//! Computes the deadlines of a host's state. Source: docs/protocol/host-lifecycle.md#4 to §6.

use chrono::Duration;
use muster_api::host::LogsProgressState;
use muster_api::time::Timestamp;

use super::{cleaning, waiting};
use crate::record::{Host, HostState, RebootWay, ReinstallStep, SleepStage};
use crate::rules::facts::{Deadlines, HostFacts};
use crate::rules::stages;

/// Longest time of a reclaimed node in each of its two states.
pub const RECLAIM_LIMIT: Duration = Duration::minutes(60);

/// Longest time without a report about logs.
pub const LOGS_LIMIT: Duration = Duration::minutes(10);

/// Longest time between a request for logs and the logs: a poll, the collection and the upload.
pub const ASKED_LOGS_LIMIT: Duration = Duration::minutes(10);

/// Longest time between a request to reboot a host and the poll of the agent on its node: several polls.
pub const NODE_REBOOT_LIMIT: Duration = Duration::minutes(5);

/// The same for its BMC: other work on the BMC may go first, and the BMC's own limit is shorter.
pub const BMC_REBOOT_LIMIT: Duration = Duration::minutes(20);

/// Longest time between the request that a host sleeps and the report of its BMC that it is off: more than the BMC's own limit.
pub const FALLING_LIMIT: Duration = Duration::minutes(20);

/// Longest time that a request to wake a host waits for its turn at the BMCs, which is no fault of the host.
pub const WAKE_QUEUE_LIMIT: Duration = Duration::minutes(60);

/// The end of the host's present wait for an agent, a stage or a return; `None`: it does not wait, or without a limit.
pub fn end_of_wait(host: &Host, deadlines: &Deadlines<'_>) -> Option<Timestamp> {
    if host.data.waking().is_some() {
        return end_of_sleep(host, deadlines);
    }
    match host.state {
        HostState::Binding | HostState::Unbinding => Some(deadlines.silent_at(host)),
        HostState::Installing => Some(start_limit(host, deadlines)),
        HostState::InstallingInProgress => stage_limit(host, deadlines),
        HostState::Reclaiming | HostState::ReclaimingRebooting => Some(reclaim_limit(host, deadlines)),
        HostState::DiscoveringUnbound => cleaning::deadline(host, deadlines),
        HostState::ResettingPendingUserAction if host.boots_itself_again() => {
            reinstall_limit(host, deadlines)
        }
        _ => None,
    }
}

/// Time by which a host must be off or awake; `None`: it is awake, or sleeps, which has no end.
pub fn end_of_sleep(host: &Host, deadlines: &Deadlines<'_>) -> Option<Timestamp> {
    let sleep = host.data.sleep.as_ref()?;
    match &sleep.stage {
        SleepStage::Falling => Some(deadlines.after(sleep.asked_at, FALLING_LIMIT)),
        SleepStage::Waking(waking) => Some(match waking.begun_at {
            Some(begun_at) => deadlines.after(begun_at, deadlines.limits.wake()),
            None => deadlines.after(waking.asked_at, WAKE_QUEUE_LIMIT),
        }),
        SleepStage::Asleep { .. } | SleepStage::DidNotWake { .. } => None,
    }
}

/// Time at which the host must be evaluated again even without an event; `None` when no deadline runs.
pub fn due_at(host: &Host, facts: &HostFacts<'_>) -> Option<Timestamp> {
    let end_of_wait = || end_of_wait(host, &facts.deadlines());
    let sleeps = host
        .data
        .sleep
        .as_ref()
        .is_some_and(|sleep| sleep.is_silence_expected());
    let own = match &host.state {
        _ if sleeps => end_of_sleep(host, &facts.deadlines()),
        HostState::DiscoveringUnbound => earliest(end_of_wait(), Some(facts.silent_at(host))),
        HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::Discovering
        | HostState::Known
        | HostState::Insufficient { .. }
        | HostState::PendingForInput { .. } => Some(facts.silent_at(host)),
        HostState::Binding | HostState::Unbinding | HostState::ReclaimingRebooting => end_of_wait(),
        HostState::Installing | HostState::InstallingInProgress => {
            earliest(end_of_wait(), silence(host, facts))
        }
        HostState::Reclaiming => earliest(end_of_wait(), Some(node_silent_at(host, facts))),
        HostState::ResettingPendingUserAction if host.boots_itself_again() => {
            let is_silent_at = match host.data.reinstall_step() {
                Some(ReinstallStep::Download) => Some(node_silent_at(host, facts)),
                _ => None,
            };
            earliest(end_of_wait(), is_silent_at)
        }
        // The next poll brings them back.
        HostState::DisconnectedUnbound | HostState::Disconnected => None,
        // They wait for a user, without a limit.
        HostState::InstallingPendingUserAction { .. }
        | HostState::ResettingPendingUserAction
        | HostState::UnbindingPendingUserAction
        | HostState::AddedToExistingCluster
        | HostState::Error
        | HostState::Cancelled => None,
    };
    let logs = earliest(logs_limit(host, facts), asked_logs_limit(host, facts));
    let requests = earliest(logs, asked_reboot_limit(host, facts));
    earliest(earliest(own, requests), waiting::is_long_at(host, facts))
}

/// Time at which an installing host counts as lost; `None` once it runs no agent.
pub(super) fn silence(host: &Host, facts: &HostFacts<'_>) -> Option<Timestamp> {
    stages::has_agent(&host.data).then(|| facts.silent_at(host))
}

/// Time by which the installation must have begun.
fn start_limit(host: &Host, deadlines: &Deadlines<'_>) -> Timestamp {
    deadlines.after(host.data.status_updated_at, stages::START_LIMIT)
}

/// Time by which the present stage must have been reported again.
fn stage_limit(host: &Host, deadlines: &Deadlines<'_>) -> Option<Timestamp> {
    let progress = host.data.progress.as_ref()?;
    let limit = deadlines.limits.of(progress.stage);
    Some(deadlines.after(stages::waits_since(progress), limit))
}

/// Time by which a reclaimed node must have taken its next step.
fn reclaim_limit(host: &Host, deadlines: &Deadlines<'_>) -> Timestamp {
    deadlines.after(host.data.status_updated_at, RECLAIM_LIMIT)
}

/// The same for a node that is to be installed again.
fn reinstall_limit(host: &Host, deadlines: &Deadlines<'_>) -> Option<Timestamp> {
    let asked = host.data.pending_reinstall()?;
    Some(deadlines.after(asked.since, RECLAIM_LIMIT))
}

/// Time by which the agent of a returning node must have polled. The time counts from the request: the agent may just
/// be starting.
pub(super) fn node_silent_at(host: &Host, facts: &HostFacts<'_>) -> Timestamp {
    facts
        .silent_at(host)
        .max(facts.end_of_wait(host.data.status_updated_at, facts.limits.silence()))
}

/// Time by which requested logs must have been uploaded; it runs only after the end of an installation.
pub(super) fn logs_limit(host: &Host, facts: &HostFacts<'_>) -> Option<Timestamp> {
    let logs = &host.data.logs;
    let ended = matches!(host.state, HostState::Error | HostState::Cancelled);
    let begun = matches!(
        logs.info,
        LogsProgressState::Requested | LogsProgressState::Collecting
    );
    let last_news = logs.started_at.max(logs.collected_at)?;
    (ended && begun).then(|| facts.end_of_wait(last_news, LOGS_LIMIT))
}

/// Time by which logs must have come that an operator waits for.
pub(super) fn asked_logs_limit(host: &Host, facts: &HostFacts<'_>) -> Option<Timestamp> {
    let asked = host
        .data
        .asked_logs
        .as_ref()
        .filter(|asked| asked.outcome.is_none())?;
    Some(facts.end_of_wait(asked.asked_at, ASKED_LOGS_LIMIT))
}

/// Time by which a reboot that was requested must have begun; it is not carried out later.
pub(super) fn asked_reboot_limit(host: &Host, facts: &HostFacts<'_>) -> Option<Timestamp> {
    let asked = host.data.pending_reboot()?;
    let limit = match asked.way.as_ref()? {
        RebootWay::Bmc(_) => BMC_REBOOT_LIMIT,
        RebootWay::NodeAgent => NODE_REBOOT_LIMIT,
    };
    Some(facts.end_of_wait(asked.asked_at, limit))
}

fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
