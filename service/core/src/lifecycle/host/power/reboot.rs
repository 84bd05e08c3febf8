//! Reboots an installed host at a controller's request: by its BMC, or by the agent on its node. The protocol has no such
//! request; the remediation of Cluster API needs one (docs/protocol/capi-day1.md, section 1).

use chrono::Duration;
use muster_api::event::Severity;
use muster_api::time::Timestamp;

use crate::lifecycle::host::event::{HostEvent, RebootAsked};
use crate::lifecycle::host::{deadline, events};
use crate::record::{AskedReboot, Host, HostState, NewEvent, NodeAgent, RebootOutcome, RebootWay};
use crate::rules::facts::HostFacts;
use crate::rules::hostname;
use crate::text::one_line;

/// Tolerated difference between the clock of the requester and the service's.
pub(in crate::lifecycle::host) const AHEAD: Duration = Duration::minutes(5);

/// Longest reason that is kept, bytes.
const MAX_REASON: usize = 1000;

/// Applies a request to reboot the host, or a report about one. What fits no pending request changes nothing.
pub(in crate::lifecycle::host) fn happened(
    host: &mut Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
) {
    match event {
        HostEvent::RebootAsked(request) => asked(host, request, facts, now),
        HostEvent::RebootWithdrawn => end(host, RebootOutcome::Failed("the request was withdrawn".into())),
        HostEvent::RebootReported { failure } if is_pending_by(host, |way| *way == RebootWay::NodeAgent) => {
            end(host, outcome(failure.as_deref(), "the agent on its node"));
        }
        HostEvent::RebootedByBmc {
            requested_at,
            failure,
        } => {
            let pending = host.data.pending_reboot();
            let is_it = pending.is_some_and(|asked| asked.requested_at == *requested_at);
            if is_it && is_pending_by(host, |way| matches!(way, RebootWay::Bmc(_))) {
                end(host, outcome(failure.as_deref(), "its BMC"));
            }
        }
        _ => {}
    }
}

/// Records a request with the way in which it is carried out, or with the reason why it is not. A request that is known, or older than
/// one that was accepted, changes nothing.
fn asked(host: &mut Host, request: &RebootAsked, facts: &HostFacts<'_>, now: Timestamp) {
    let is_known = host.data.asked_reboot.as_ref().is_some_and(|last| {
        last.requested_at == request.requested_at
            || last.way.is_some() && request.requested_at < last.requested_at
    });
    if is_known {
        return;
    }
    let (way, outcome) = match way(host, request, facts, now) {
        Ok(way) => (Some(way), None),
        Err(why) => (None, Some(RebootOutcome::Failed(why))),
    };
    host.data.asked_reboot = Some(AskedReboot {
        requested_at: request.requested_at,
        asked_at: now,
        way,
        outcome,
    });
}

/// The way in which the host is rebooted.
///
/// # Errors
/// The reason why it is not, as the end of a sentence.
fn way(
    host: &Host,
    request: &RebootAsked,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<RebootWay, String> {
    if host.state != HostState::AddedToExistingCluster {
        let status = host.state.status().name();
        return Err(format!(
            "it is {status}, and only a node of a cluster is rebooted"
        ));
    }
    if host.cluster_id.is_none() || host.cluster_id != request.cluster_id {
        return Err("it is a node of another cluster than the request is for".into());
    }
    if request.requested_at < host.data.status_updated_at {
        return Err("the request is older than its membership in the cluster".into());
    }
    if request.requested_at > now + AHEAD {
        return Err("the time of the request is in the future: compare the clocks".into());
    }
    if let Some(bmc) = &request.bmc {
        return Ok(RebootWay::Bmc(bmc.clone()));
    }
    let lacks_bmc = "it has no BMC that can be used";
    match host.data.node_agent {
        NodeAgent::Absent | NodeAgent::GaveUp => Err(format!(
            "{lacks_bmc}, and no agent of this service runs on its node"
        )),
        NodeAgent::Installed if now >= facts.silent_at(host) => Err(format!(
            "{lacks_bmc}, and the agent on its node last polled at {} UTC",
            facts.seen(host).format("%Y-%m-%d %H:%M:%S")
        )),
        NodeAgent::Installed => Ok(RebootWay::NodeAgent),
    }
}

/// Ends a request that was not carried out in time.
pub(in crate::lifecycle::host) fn give_up_late(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    if deadline::asked_reboot_limit(host, facts).is_some_and(|limit| now >= limit) {
        let by_node = is_pending_by(host, |way| *way == RebootWay::NodeAgent);
        let who = if by_node {
            "the agent on its node"
        } else {
            "its BMC"
        };
        end(
            host,
            RebootOutcome::Failed(format!("{who} did not do so in time")),
        );
    }
}

/// The request that the agent on the node has to carry out with this poll.
pub(in crate::lifecycle::host) fn awaited_of_node<'a>(
    host: &'a Host,
    facts: &HostFacts<'_>,
) -> Option<&'a AskedReboot> {
    let is_late = deadline::asked_reboot_limit(host, facts).is_none_or(|limit| facts.seen(host) >= limit);
    let is_node = host.state == HostState::AddedToExistingCluster;
    let asked = host.data.pending_reboot()?;
    (is_node && !is_late && asked.way == Some(RebootWay::NodeAgent)).then_some(asked)
}

/// The events about requests to reboot the host between `old` and `next`.
pub(in crate::lifecycle::host) fn events_of_change(
    old: &Host,
    next: &Host,
    now: Timestamp,
    told: &mut Vec<NewEvent>,
) {
    let Some(asked) = &next.data.asked_reboot else {
        return;
    };
    let before = old.data.asked_reboot.as_ref();
    let before = before.filter(|before| before.requested_at == asked.requested_at);
    let name = hostname::display(next);
    if before.is_none()
        && let Some(way) = &asked.way
    {
        let message = match way {
            RebootWay::Bmc(bmc) => format!("Host {name} is to reboot: its BMC {bmc} switches it off and on"),
            RebootWay::NodeAgent => {
                format!("Host {name} is to reboot: the agent on its node does so with its next poll")
            }
        };
        told.push(events::about(
            next,
            "muster_host_reboot_asked",
            Severity::Info,
            &message,
            now,
        ));
    }
    let has_ended = before.is_none_or(|before| before.outcome.is_none());
    if let Some(outcome) = asked.outcome.as_ref().filter(|_| has_ended) {
        let done = ("muster_host_rebooted", format!("Host {name} was rebooted"));
        let failed = (
            "muster_host_reboot_failed",
            format!("Host {name} was not rebooted"),
        );
        told.push(events::of_end(next, outcome, done, failed, now));
    }
}

fn is_pending_by(host: &Host, which: impl Fn(&RebootWay) -> bool) -> bool {
    let pending = host.data.pending_reboot();
    pending.and_then(|asked| asked.way.as_ref()).is_some_and(which)
}

fn end(host: &mut Host, outcome: RebootOutcome) {
    if let Some(asked) = &mut host.data.asked_reboot {
        asked.end(outcome);
    }
}

fn outcome(failure: Option<&str>, who: &str) -> RebootOutcome {
    match failure {
        None => RebootOutcome::Done,
        Some("") => RebootOutcome::Failed(format!("{who} could not, and gives no reason")),
        Some(why) => RebootOutcome::Failed(format!("{who} could not: {}", one_line(why, MAX_REASON))),
    }
}
