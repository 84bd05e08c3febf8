//! Tracks the collection of a host's logs: the one at the end of an installation, which the service requests itself
//! (docs/protocol/rest-behaviour.md#3.5), and those at an operator's request, which the protocol does not have.

use muster_api::host::LogsProgressState;
use muster_api::time::Timestamp;

use crate::lifecycle::host::step::{RefusalClass, Rejection};
use crate::lifecycle::host::{deadline, events};
use crate::record::{AskedLogs, Host, HostState, LogsOutcome, NewEvent};
use crate::rules::facts::HostFacts;
use crate::rules::{agent_version, hostname, stages};
use crate::text::{one_line, spoken};

/// Longest reason that is kept, bytes.
const MAX_REASON: usize = 1000;

/// The host reports the state of the collection.
pub(in crate::lifecycle::host) fn progressed(host: &mut Host, state: LogsProgressState, now: Timestamp) {
    let logs = &mut host.data.logs;
    if logs.info != state {
        logs.info = state;
        if state == LogsProgressState::Requested {
            logs.started_at = Some(now);
        }
    }
}

/// An archive was uploaded to the host's cluster. It also serves an operator's request.
pub(in crate::lifecycle::host) fn uploaded(host: &mut Host, now: Timestamp, events: &mut Vec<NewEvent>) {
    host.data.logs.collected_at = Some(now);
    host.data.logs.info = LogsProgressState::Collecting;
    end(host, LogsOutcome::Came);
    events.push(events::host_logs_uploaded(host, now));
}

/// An archive was uploaded at an operator's request. Its upload began in time, so it counts even if it ends too late.
pub(in crate::lifecycle::host) fn asked_ones_came(
    host: &mut Host,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) {
    if let Some(asked) = &mut host.data.asked_logs {
        asked.outcome = Some(LogsOutcome::Came);
    }
    events.push(events::host_logs_uploaded(host, now));
}

/// The host reports that it could not send its logs.
pub(in crate::lifecycle::host) fn not_sent(host: &mut Host, reason: &str) {
    let reason = match reason.is_empty() {
        true => "its agent could not send them, and gives no reason".into(),
        false => format!("its agent could not send them: {}", one_line(reason, MAX_REASON)),
    };
    end(host, LogsOutcome::Failed(reason));
}

/// Ends the waits for logs that are overdue.
pub(in crate::lifecycle::host) fn give_up_late_ones(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    if deadline::logs_limit(host, facts).is_some_and(|limit| now >= limit) {
        host.data.logs.info = LogsProgressState::Timeout;
    }
}

/// Ends an operator's wait that has lasted too long.
pub(in crate::lifecycle::host) fn give_up_asked_ones(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    if deadline::asked_logs_limit(host, facts).is_some_and(|limit| now >= limit) {
        let reason = format!(
            "none came within {}; the host last reported {}",
            spoken(deadline::ASKED_LOGS_LIMIT),
            time(facts.seen(host))
        );
        end(host, LogsOutcome::Failed(reason));
    }
}

/// An operator requests logs; a second request while the first is pending changes nothing.
pub(in crate::lifecycle::host) fn asked(
    host: &mut Host,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<(), Rejection> {
    give_up_asked_ones(host, facts, now);
    if host.data.awaits_logs() {
        return Ok(());
    }
    if let Some(why) = obstacle(host, facts, now) {
        let name = hostname::display(host);
        return Err(Rejection::plain(
            RefusalClass::UserConflict,
            format!("logs cannot be requested from host {name}: {why}"),
        ));
    }
    host.data.asked_logs = Some(AskedLogs {
        asked_at: now,
        outcome: None,
    });
    Ok(())
}

/// The reason why the host would not respond, and the remedy; `None`: it should respond.
fn obstacle(host: &Host, facts: &HostFacts<'_>, now: Timestamp) -> Option<String> {
    if !runs_an_agent(host) {
        let status = host.state.status().name();
        return Some(format!(
            "it is {status} and runs no discovery agent; its own system has its logs"
        ));
    }
    let silent = matches!(
        host.state,
        HostState::Disconnected | HostState::DisconnectedUnbound
    );
    if silent || now >= facts.silent_at(host) {
        return Some(format!(
            "it last reported {}. See that it is on, runs the discovery image and reaches the service",
            time(facts.seen(host))
        ));
    }
    let is_own = agent_version::is_own(&host.data.discovery_agent_version);
    (!is_own && host.cluster_id.is_none()).then(|| {
        "its agent is none of Muster's, and such agents send logs only while their hosts belong to a cluster".into()
    })
}

/// True in states in which the host's agent polls and can send logs.
fn runs_an_agent(host: &Host) -> bool {
    match host.state {
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound
        | HostState::Discovering
        | HostState::Known
        | HostState::Insufficient { .. }
        | HostState::PendingForInput { .. }
        | HostState::Disconnected
        | HostState::Installing
        | HostState::Error
        | HostState::Cancelled => true,
        HostState::InstallingInProgress => stages::has_agent(&host.data),
        HostState::InstallingPendingUserAction { .. }
        | HostState::ResettingPendingUserAction
        | HostState::AddedToExistingCluster
        | HostState::Binding
        | HostState::Unbinding
        | HostState::UnbindingPendingUserAction
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting => false,
    }
}

/// True if the response to the host's poll has to request its logs for an operator.
pub(in crate::lifecycle::host) fn are_wanted(host: &Host) -> bool {
    host.data.awaits_logs() && runs_an_agent(host)
}

fn end(host: &mut Host, outcome: LogsOutcome) {
    if let Some(asked) = &mut host.data.asked_logs
        && asked.outcome.is_none()
    {
        asked.outcome = Some(outcome);
    }
}

fn time(at: Timestamp) -> String {
    at.format("at %Y-%m-%d %H:%M:%S UTC").to_string()
}
