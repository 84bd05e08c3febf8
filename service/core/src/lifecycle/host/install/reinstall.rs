//! Installs the node of a host again while the host stays in its cluster, at a controller's request: for upgrades in place. The protocol has
//! no such request.
//!
//! The states are those of a reset (`resetting-pending-user-action`, then as for a host that is added), except that the agent on the node,
//! where there is one, boots the machine into discovery. Where it cannot, the host waits for a boot like one that a user reset, which its BMC
//! does where it has one. Name and disk stay: no other disk is written or formatted.

use muster_api::event::Severity;
use muster_api::host::HostKind;
use muster_api::time::Timestamp;

use crate::lifecycle::host::event::ReinstallAsked;
use crate::lifecycle::host::reboot::AHEAD;
use crate::lifecycle::host::transition::{move_to, set_info};
use crate::lifecycle::host::{deadline, events};
use crate::record::{
    AskedReinstall, Host, HostState, NewEvent, NodeAgent, Phase, RebootOutcome, ReinstallStep,
};
use crate::rules::facts::HostFacts;
use crate::rules::{agent_version, hostname, stages};
use crate::text::{cut, spoken};

const BEGIN: &str = "The node is installed again, in its cluster.";
const WAITS_FOR_BOOT: &str = "Waits for somebody to boot the host into the discovery image";

/// Longest reason that is kept, bytes.
const MAX_REASON: usize = 1000;

/// The beginning of a reinstallation.
struct Way {
    step: ReinstallStep,
    info: String,
    /// The host may register without a boot by a user.
    comes_back: bool,
}

/// Records a request and begins it, or records why not. A request that is known, or older than the last one that was accepted, changes
/// nothing.
pub(in crate::lifecycle::host) fn asked(
    host: &mut Host,
    request: &ReinstallAsked,
    facts: &HostFacts<'_>,
    now: Timestamp,
) {
    let is_known = host.data.asked_reinstall.as_ref().is_some_and(|last| {
        last.requested_at == request.requested_at
            || last.cluster_id.is_some() && request.requested_at < last.requested_at
    });
    if is_known {
        return;
    }
    let refused = obstacle(host, request, now);
    let before = host.data.asked_reinstall.as_ref();
    let mut asked = AskedReinstall {
        requested_at: request.requested_at,
        cluster_id: before.and_then(|before| before.cluster_id),
        step: ReinstallStep::Boot,
        since: now,
        is_refused: refused.is_some(),
        outcome: None,
    };
    if let Some(why) = refused {
        // One that is being carried out goes on.
        if host.data.pending_reinstall().is_none() {
            asked.outcome = Some(RebootOutcome::Failed(why));
            host.data.asked_reinstall = Some(asked);
        }
        return;
    }
    let way = way(host, facts);
    asked.cluster_id = host.cluster_id;
    asked.step = way.step;
    if way.comes_back {
        host.data.node_agent = NodeAgent::Absent;
    }
    // No other disk takes its place: the others may hold the data of the node.
    if !host.data.installation_disk_id.is_empty() {
        host.data
            .requested_disk_id
            .clone_from(&host.data.installation_disk_id);
    }
    move_to(
        host,
        HostState::ResettingPendingUserAction,
        &format!("{BEGIN} {}", way.info),
    );
    host.data.comes_back = way.comes_back;
    host.data.asked_reinstall = Some(asked);
}

/// The reason for which the request is refused, as the end of a sentence; `None`: it is not.
fn obstacle(host: &Host, request: &ReinstallAsked, now: Timestamp) -> Option<String> {
    let last = host.data.asked_reinstall.as_ref();
    // The first installation in a cluster is none of these requests'.
    let has_failed_again = matches!(host.state, HostState::Error | HostState::Cancelled)
        && last.is_some_and(|last| last.cluster_id.is_some() && last.cluster_id == host.cluster_id);
    if host.state != HostState::AddedToExistingCluster && !has_failed_again {
        let status = host.state.status().name();
        return Some(format!(
            "it is {status}, and only a node of a cluster is installed again"
        ));
    }
    if host.cluster_id.is_none() || host.cluster_id != request.cluster_id {
        return Some("it is a node of another cluster than the request is for".into());
    }
    if host.data.kind != HostKind::AddToExistingClusterHost {
        return Some("it was not added to an existing cluster by this service".into());
    }
    if request.requested_at < host.data.status_updated_at {
        return Some("the request is older than its membership in the cluster".into());
    }
    if request.requested_at > now + AHEAD {
        return Some("the time of the request is in the future: compare the clocks".into());
    }
    None
}

/// A node that is silent is given up by [`watch`]: its agent may just be starting.
fn way(host: &Host, facts: &HostFacts<'_>) -> Way {
    let lives = host.state != HostState::AddedToExistingCluster && stages::has_agent(&host.data);
    if lives && agent_version::is_own(&host.data.discovery_agent_version) {
        return Way {
            step: ReinstallStep::Boot,
            info: "Its agent stops what it does and registers again; if it does not within minutes, boot the host into the discovery image".into(),
            comes_back: true,
        };
    }
    let boot = |why: &str| Way {
        step: ReinstallStep::Boot,
        info: format!("{why}. {WAITS_FOR_BOOT}"),
        comes_back: false,
    };
    if lives || host.data.node_agent != NodeAgent::Installed {
        return boot("No agent of this service on it can boot it into discovery");
    }
    if facts.boot_artifacts.is_none() {
        return boot("The service has no live image that the node could boot");
    }
    Way {
        step: ReinstallStep::Download,
        info: "The agent on the node downloads what it boots into discovery with".into(),
        comes_back: false,
    }
}

/// The node has downloaded its boot artifacts. False: no reinstallation instructed it to.
pub(in crate::lifecycle::host) fn downloaded(host: &mut Host, now: Timestamp) -> bool {
    if host.data.reinstall_step() != Some(ReinstallStep::Download) {
        return false;
    }
    goes_on(host, ReinstallStep::Reboot, now);
    set_info(host, &format!("{BEGIN} It reboots into the discovery image"));
    true
}

/// The node could not download them. False: no reinstallation instructed it to.
pub(in crate::lifecycle::host) fn not_downloaded(host: &mut Host, now: Timestamp) -> bool {
    if !host.boots_itself_again() {
        return false;
    }
    host.data.node_agent = NodeAgent::GaveUp;
    let why = "The host could not download what it boots into discovery with; its journal (muster-node-agent) gives the reason";
    waits_for_boot(host, why, now);
    true
}

/// Gives the agent on the node up that did not do its step in time, and lets one go on that polls after all.
pub(in crate::lifecycle::host) fn watch(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    let Some(asked) = host.data.pending_reinstall() else {
        return;
    };
    let (step, since) = (asked.step, asked.since);
    if host.boots_itself_again() {
        if deadline::end_of_wait(host, &facts.deadlines()).is_some_and(|limit| now >= limit) {
            host.data.node_agent = NodeAgent::GaveUp;
            let limit = deadline::RECLAIM_LIMIT.num_minutes();
            waits_for_boot(
                host,
                &format!("The host has not come back within {limit} minutes"),
                now,
            );
        } else if step == ReinstallStep::Download && now >= deadline::node_silent_at(host, facts) {
            let limit = spoken(facts.limits.silence());
            let why = format!(
                "The agent on the node has not polled for {limit}. Power the host on if it is off: it then goes on by itself"
            );
            waits_for_boot(host, &why, now);
        }
        return;
    }
    let may_go_on = step == ReinstallStep::Boot
        && host.state == HostState::ResettingPendingUserAction
        && host.data.node_agent == NodeAgent::Installed
        && facts.boot_artifacts.is_some();
    if may_go_on && facts.seen(host) > since {
        goes_on(host, ReinstallStep::Download, now);
        host.data.bmc_boot = None;
        let info = "The agent on the node downloads what it boots into discovery with";
        set_info(host, &format!("{BEGIN} {info}"));
    }
}

fn waits_for_boot(host: &mut Host, why: &str, now: Timestamp) {
    goes_on(host, ReinstallStep::Boot, now);
    set_info(host, &format!("{BEGIN} {why}. {WAITS_FOR_BOOT}"));
}

fn goes_on(host: &mut Host, step: ReinstallStep, now: Timestamp) {
    if let Some(asked) = &mut host.data.asked_reinstall {
        asked.goes_on(step, now);
    }
}

/// State and text of a host that is taken out of its cluster before it is in discovery.
pub(in crate::lifecycle::host) fn way_out(host: &Host) -> (HostState, &'static str) {
    match host.data.reinstall_step() {
        Some(ReinstallStep::Download) => (
            HostState::Reclaiming,
            "Waits for the agent on the node, which downloads what the node needs to boot into discovery again",
        ),
        Some(ReinstallStep::Reboot) => (HostState::ReclaimingRebooting, "Reboots into the discovery image"),
        _ => (HostState::UnbindingPendingUserAction, WAITS_FOR_BOOT),
    }
}

/// Derives step and outcome from the state that the host has now.
pub(in crate::lifecycle::host) fn follow(host: &mut Host, now: Timestamp) {
    let state = host.state.clone();
    let info = cut(&host.data.status_info, MAX_REASON).to_owned();
    let is_elsewhere = host.cluster_id.is_none();
    let Some(asked) = &mut host.data.asked_reinstall else {
        return;
    };
    if is_elsewhere {
        asked.end(RebootOutcome::Failed("it left its cluster first".into()));
        asked.cluster_id = None;
    }
    if !asked.is_pending() {
        return;
    }
    match (&state, asked.step) {
        (HostState::AddedToExistingCluster, ReinstallStep::Install) => asked.end(RebootOutcome::Done),
        (HostState::Error, _) => asked.end(RebootOutcome::Failed(info)),
        (HostState::Cancelled, _) => asked.end(RebootOutcome::Failed(format!("it was cancelled: {info}"))),
        // A user reset it.
        (HostState::ResettingPendingUserAction, ReinstallStep::Install) => {
            asked.goes_on(ReinstallStep::Boot, now);
        }
        (other, step)
            if step != ReinstallStep::Install
                && matches!(other.phase(), Phase::PreInstall | Phase::Installing) =>
        {
            asked.goes_on(ReinstallStep::Install, now);
        }
        _ => {}
    }
}

/// The events about requests between `old` and `next`.
pub(in crate::lifecycle::host) fn events_of_change(
    old: &Host,
    next: &Host,
    now: Timestamp,
    told: &mut Vec<NewEvent>,
) {
    let Some(asked) = &next.data.asked_reinstall else {
        return;
    };
    let before = old.data.asked_reinstall.as_ref();
    let before = before.filter(|before| before.requested_at == asked.requested_at);
    let name = hostname::display(next);
    if before.is_none() && asked.is_pending() {
        let message = format!("Host {name} is installed again, in its cluster");
        told.push(events::about(
            next,
            "muster_host_reinstall_asked",
            Severity::Info,
            &message,
            now,
        ));
    }
    let has_ended = before.is_none_or(|before| before.outcome.is_none());
    if let Some(outcome) = asked.outcome.as_ref().filter(|_| has_ended) {
        let done = (
            "muster_host_reinstalled",
            format!("Host {name} was installed again, in its cluster"),
        );
        let failed = (
            "muster_host_reinstall_failed",
            format!("Host {name} was not installed again"),
        );
        told.push(events::of_end(next, outcome, done, failed, now));
    }
}
