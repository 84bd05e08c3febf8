//! Re-evaluates a host: disks, checks, findings and state. Source: docs/protocol/host-lifecycle.md#4.
//!
//! Rules of new clusters (2 to 12, 14, 20, 24) and of soft timeouts (18, 19, 22, which are off by default) are not
//! implemented. Three differences from the table, all towards fewer surprises: a lost boot medium keeps a host
//! disconnected until it can be read again (upstream only the time of the loss counts), a host that reports an
//! inventory without contents returns to discovering from every state (upstream a known host stays known), and a host
//! whose node has joined and is not ready in time ends as installed (upstream as failed): a network that is installed
//! into the cluster later is no fault of its host.

use muster_api::host::{HostKind, HostStage};
use muster_api::time::Timestamp;
use muster_api::validation::ValidationsInfo;

use super::install::{not_booted, reinstall};
use super::reports::logs;
use super::transition::{WAITS_FOR_INVENTORY, move_to};
use super::{bind, cleaning, deadline, reboot, sleep};
use crate::record::{CheckId, Host, HostState, NodeAgent, Phase, Progress};
use crate::rules::checks::{self, Conditions, Gate};
use crate::rules::facts::HostFacts;
use crate::rules::{disks, findings, hostname, os_image, role, stages};
use crate::text::spoken;

/// Evaluates disks, checks and state of `host`.
pub(super) fn refresh(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    logs::give_up_asked_ones(host, facts, now);
    reboot::give_up_late(host, facts, now);
    if sleep::rests(host, facts, now) {
        return;
    }
    match host.state.phase() {
        Phase::Unbound => refresh_unbound(host, facts, now),
        Phase::PreInstall => {
            role::suggest(host);
            disks::settle(host, facts);
            host.data.os_image = os_image::shown(host, facts);
            evaluate(host, facts, now);
            let (state, info) = bound_state(host, facts);
            move_to(host, state, &info);
        }
        Phase::Installing => {
            disks::evaluate(host, facts);
            evaluate(host, facts, now);
            watch_installation(host, facts, now);
            logs::give_up_late_ones(host, facts, now);
        }
        Phase::Ended => logs::give_up_late_ones(host, facts, now),
        Phase::Moving => {
            watch_move(host, facts, now);
            // A host that became silent while entering its cluster is validated like every other host there.
            if host.state.phase() == Phase::PreInstall {
                refresh(host, facts, now);
            }
        }
    }
}

fn refresh_unbound(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    disks::settle(host, facts);
    evaluate(host, facts, now);
    let conditions = Conditions::of(&host.data.validations, &[]);
    let lack = lacks(host, &conditions);
    match lack {
        None => cleaning::proceed(host, facts, now),
        Some(Lack::Inventory(_)) => cleaning::without_inventory(host, facts, now),
        Some(Lack::Contact(_)) => {}
    }
    let (state, info) = unbound_state(host, lack, &conditions);
    move_to(host, state, &info);
}

fn evaluate(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    host.data.validations = checks::evaluate(host, facts, now);
    host.data.findings = findings::evaluate(host, facts);
}

/// The gates before everything else: the host must be connected and have reported an inventory. `None`: both hold.
fn lacks(host: &Host, conditions: &Conditions) -> Option<Lack> {
    if let Some(why) = sleep::lack_of_contact(host) {
        return Some(Lack::Contact(why));
    }
    let validations = &host.data.validations;
    for check in [CheckId::Connected, CheckId::MediaConnected] {
        if !conditions.holds(check) {
            return Some(Lack::Contact(message(validations, check).to_owned()));
        }
    }
    if !conditions.holds(CheckId::HasInventory) {
        return Some(Lack::Inventory(WAITS_FOR_INVENTORY.into()));
    }
    if !conditions.holds(CheckId::InventoryNotFullyTruncated) {
        let why = message(validations, CheckId::InventoryNotFullyTruncated);
        return Some(Lack::Inventory(why.to_owned()));
    }
    None
}

enum Lack {
    Contact(String),
    Inventory(String),
}

fn unbound_state(host: &Host, lack: Option<Lack>, conditions: &Conditions) -> (HostState, String) {
    match lack {
        Some(Lack::Contact(why)) => return (HostState::DisconnectedUnbound, why),
        Some(Lack::Inventory(why)) => return (HostState::DiscoveringUnbound, why),
        None => {}
    }
    if let Some(info) = cleaning::info(host) {
        return (HostState::DiscoveringUnbound, info);
    }
    let failed = conditions.failed_unbound();
    if failed.is_empty() {
        let name = hostname::display(host);
        return (
            HostState::KnownUnbound,
            format!("{name} is fit and can be bound to a cluster"),
        );
    }
    let info = not_fit(&host.data.validations, &failed);
    (HostState::InsufficientUnbound { failed }, info)
}

fn bound_state(host: &Host, facts: &HostFacts<'_>) -> (HostState, String) {
    let ignored = facts
        .cluster
        .map_or(&[][..], |facts| &facts.cluster.data.ignored_host_validations);
    let conditions = Conditions::of(&host.data.validations, ignored);
    match lacks(host, &conditions) {
        Some(Lack::Contact(why)) => return (HostState::Disconnected, why),
        Some(Lack::Inventory(why)) => return (HostState::Discovering, why),
        None => {}
    }
    let validations = &host.data.validations;
    let least = conditions.failed(Gate::MinHardware);
    if !least.is_empty() {
        let info = not_fit(validations, &least);
        return (HostState::Insufficient { failed: least }, info);
    }
    let input = conditions.failed(Gate::Input);
    if !input.is_empty() {
        let info = format!("Waits for input: {}", checks::summary(validations, &input));
        return (HostState::PendingForInput { failed: input }, info);
    }
    let gate = conditions.failed(Gate::Known);
    if !gate.is_empty() {
        let info = not_fit(validations, &gate);
        return (HostState::Insufficient { failed: gate }, info);
    }
    let name = hostname::display(host);
    (HostState::Known, format!("{name} is fit and can be installed"))
}

fn not_fit(validations: &ValidationsInfo, failed: &[CheckId]) -> String {
    format!("Not fit yet: {}", checks::summary(validations, failed))
}

fn message(validations: &ValidationsInfo, check: CheckId) -> &str {
    checks::find(validations, check).map_or("", |row| &row.message)
}

/// Rules 15, 17, 21 and 23.
fn watch_installation(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    let over = |limit: Option<Timestamp>| limit.is_some_and(|limit| now >= limit);
    let end_of_wait = deadline::end_of_wait(host, &facts.deadlines());
    match host.state {
        HostState::Installing if over(end_of_wait) => {
            let info = format!(
                "The host has not begun its installation within {} minutes",
                stages::START_LIMIT.num_minutes()
            );
            move_to(host, HostState::Error, &info);
        }
        HostState::Installing | HostState::InstallingInProgress if over(deadline::silence(host, facts)) => {
            let info = format!(
                "The host has not polled for {} in the middle of its installation",
                spoken(facts.limits.silence())
            );
            move_to(host, HostState::Error, &info);
        }
        HostState::InstallingInProgress if over(end_of_wait) => {
            stage_too_slow(host, facts, now);
        }
        _ => {}
    }
}

fn stage_too_slow(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    let Some(progress) = &host.data.progress else {
        return;
    };
    let stage = progress.stage;
    match stage {
        HostStage::Rebooting => not_booted::reboot_too_slow(host, facts),
        HostStage::Joined => not_ready_in_time(host, facts, now),
        _ => {
            let info = format!(
                "Nothing new was reported about the stage {:?} for {}{}",
                stage.name(),
                spoken(facts.limits.of(stage)),
                stages::awaited(progress)
            );
            move_to(host, HostState::Error, &info);
        }
    }
}

/// The node has joined and was not ready in time: the installation is done, and the cluster lacks something, such as its network.
fn not_ready_in_time(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    let Some(progress) = &host.data.progress else {
        return;
    };
    let awaited = stages::awaited(progress);
    let done = Progress {
        stage: HostStage::Done,
        percentage: 100,
        info: progress.info.clone(),
        stage_started_at: now,
        stage_updated_at: now,
    };
    let info = format!(
        "The host is installed and its node has joined; the node was not ready within {}{awaited}. See what its cluster lacks: kubectl describe node",
        spoken(facts.limits.of(HostStage::Joined))
    );
    host.data.progress = Some(done);
    move_to(host, HostState::AddedToExistingCluster, &info);
}

/// Rules 1 and 34.
fn watch_move(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    reinstall::watch(host, facts, now);
    match host.state {
        HostState::Reclaiming | HostState::ReclaimingRebooting
            if deadline::end_of_wait(host, &facts.deadlines()).is_some_and(|limit| now >= limit) =>
        {
            let limit = deadline::RECLAIM_LIMIT.num_minutes();
            host.data.node_agent = NodeAgent::GaveUp;
            bind::give_up_reclaiming(
                host,
                &format!("The host has not come back within {limit} minutes"),
            );
        }
        HostState::Reclaiming if now >= deadline::node_silent_at(host, facts) => {
            let limit = spoken(facts.limits.silence());
            let why = format!(
                "The agent on the node has not polled for {limit}. Power the host on if it is off: it then returns by itself"
            );
            bind::give_up_reclaiming(host, &why);
        }
        HostState::UnbindingPendingUserAction => bind::node_is_back(host, facts),
        HostState::Binding if now >= facts.silent_at(host) => {
            host.data.kind = HostKind::AddToExistingClusterHost;
            let info = format!(
                "The host's agent has not polled for {} on its way into the cluster. See that the host is on and reaches the service",
                spoken(facts.limits.silence())
            );
            move_to(host, HostState::Disconnected, &info);
        }
        // An unbound host counts as disconnected then.
        HostState::Unbinding if now >= facts.silent_at(host) => refresh_unbound(host, facts, now),
        _ => {}
    }
}
