//! Where a host belongs, by what is known of it. Source: docs/protocol/host-lifecycle.md#4.
//!
//! Rules of new clusters (2 to 12, 14, 20, 24) and of soft timeouts (18, 19, 22, which are off by default) have no place here.
//! Two differences from the table, both towards fewer surprises: a lost boot medium keeps a host disconnected until
//! it can be read again (there only the moment of the loss counts), and a host whose inventory arrives without its
//! contents goes back to discovering from every state (there a known host stays known).

use muster_api::time::Timestamp;
use muster_api::validation::ValidationsInfo;

use super::{Host, HostFacts, HostState, Phase, bind, deadline, disks, finding, install, logs, role, stages};
use crate::text::cut;
use crate::validate::{self, CheckId, Conditions, Gate, Look};

/// Longest `status_info`, bytes (docs/protocol/host-lifecycle.md#2).
const MAX_INFO: usize = 2040;

/// What a newly registered host is told to wait for.
pub(super) const WAITS_FOR_INVENTORY: &str = "Waits for the host to tell what it is made of";

/// The host stands there from now on, and people are told why.
pub(super) fn move_to(host: &mut Host, state: HostState, info: &str) {
    host.state = state;
    cut(info, MAX_INFO).clone_into(&mut host.data.status_info);
}

/// What is known of why it stands there, as a sentence in a refusal.
pub(super) fn describe(host: &Host) -> String {
    let info = &host.data.status_info;
    if info.is_empty() {
        String::new()
    } else {
        format!("What is said of it: {info}")
    }
}

/// Works out disks, checks and state of `host` anew.
pub(super) fn refresh(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    match host.state.phase() {
        Phase::Pool => refresh_in_pool(host, facts, now),
        Phase::PreInstall => {
            role::suggest(host);
            disks::settle(host, facts);
            judge(host, facts, now);
            let (state, info) = in_the_cluster(host, facts);
            move_to(host, state, &info);
        }
        Phase::Installing => {
            disks::judge(host, facts);
            judge(host, facts, now);
            watch_installation(host, facts, now);
            logs::give_up_late_ones(host, now);
        }
        Phase::Ended => logs::give_up_late_ones(host, now),
        Phase::Moving => watch_move(host, facts, now),
    }
}

fn refresh_in_pool(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    disks::settle(host, facts);
    judge(host, facts, now);
    let (state, info) = in_the_pool(host);
    move_to(host, state, &info);
}

fn judge(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    host.data.validations = validate::evaluate(&Look { host, facts, now });
    host.data.findings = finding::evaluate(&Look { host, facts, now });
}

/// The gates before everything else: there must be a host, and it must have told what it is made of. `None`: it has.
fn lacks(host: &Host, conditions: &Conditions) -> Option<Lack> {
    let validations = &host.data.validations;
    for check in [CheckId::Connected, CheckId::MediaConnected] {
        if !conditions.holds(check) {
            return Some(Lack::Contact(message(validations, check.id()).to_owned()));
        }
    }
    if !conditions.holds(CheckId::HasInventory) {
        return Some(Lack::Inventory(WAITS_FOR_INVENTORY.into()));
    }
    if !conditions.holds(CheckId::InventoryNotFullyTruncated) {
        let why = message(validations, CheckId::InventoryNotFullyTruncated.id());
        return Some(Lack::Inventory(why.to_owned()));
    }
    None
}

enum Lack {
    Contact(String),
    Inventory(String),
}

fn in_the_pool(host: &Host) -> (HostState, String) {
    let conditions = Conditions::of(&host.data.validations, &[]);
    match lacks(host, &conditions) {
        Some(Lack::Contact(why)) => return (HostState::DisconnectedUnbound, why),
        Some(Lack::Inventory(why)) => return (HostState::DiscoveringUnbound, why),
        None => {}
    }
    let failed = ids(&conditions.failed_in_the_pool());
    if failed.is_empty() {
        let name = super::hostname::display(host);
        return (
            HostState::KnownUnbound,
            format!("{name} is fit and can be bound to a cluster"),
        );
    }
    let info = not_fit(&host.data.validations, &failed);
    (HostState::InsufficientUnbound { failed }, info)
}

fn in_the_cluster(host: &Host, facts: &HostFacts<'_>) -> (HostState, String) {
    let ignored = facts
        .cluster
        .map_or(&[][..], |around| &around.cluster.data.ignored_host_validations);
    let conditions = Conditions::of(&host.data.validations, ignored);
    match lacks(host, &conditions) {
        Some(Lack::Contact(why)) => return (HostState::Disconnected, why),
        Some(Lack::Inventory(why)) => return (HostState::Discovering, why),
        None => {}
    }
    let validations = &host.data.validations;
    let least = ids(&conditions.failed(Gate::MinHardware));
    if !least.is_empty() {
        let info = not_fit(validations, &least);
        return (HostState::Insufficient { failed: least }, info);
    }
    let input = ids(&conditions.failed(Gate::Input));
    if !input.is_empty() {
        let info = format!("Waits for input: {}", messages(validations, &input));
        return (HostState::PendingForInput { failed: input }, info);
    }
    let gate = ids(&conditions.failed(Gate::Known));
    if !gate.is_empty() {
        let info = not_fit(validations, &gate);
        return (HostState::Insufficient { failed: gate }, info);
    }
    let name = super::hostname::display(host);
    (HostState::Known, format!("{name} is fit and can be installed"))
}

fn ids(checks: &[CheckId]) -> Vec<String> {
    checks.iter().map(|check| check.id().to_owned()).collect()
}

fn not_fit(validations: &ValidationsInfo, failed: &[String]) -> String {
    format!("Not fit yet: {}", messages(validations, failed))
}

fn messages(validations: &ValidationsInfo, ids: &[String]) -> String {
    let mut reasons: Vec<&str> = ids.iter().map(|id| message(validations, id)).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons.join(" ; ")
}

fn message<'a>(validations: &'a ValidationsInfo, id: &str) -> &'a str {
    validate::find(validations, id).map_or("", |row| &row.message)
}

/// Rules 15, 17, 21 and 23.
fn watch_installation(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    let over = |limit: Option<Timestamp>| limit.is_some_and(|limit| now >= limit);
    match host.state {
        HostState::Installing if over(deadline::start_limit(host)) => {
            let info = format!(
                "The host has not begun its installation within {} minutes",
                stages::START_LIMIT.num_minutes()
            );
            move_to(host, HostState::Error, &info);
        }
        HostState::Installing | HostState::InstallingInProgress if over(deadline::silence(host, facts)) => {
            let info = format!(
                "The host has not polled for {} minutes in the middle of its installation",
                super::facts::SILENCE_LIMIT.num_minutes()
            );
            move_to(host, HostState::Error, &info);
        }
        HostState::InstallingInProgress if over(deadline::stage_limit(host)) => {
            let stage = host.data.progress.as_ref().map(|progress| progress.stage.clone());
            let stage = stage.unwrap_or_default();
            if stage == stages::REBOOTING {
                install::reboot_too_slow(host);
            } else {
                let limit = stages::limit(&stage).num_minutes();
                let info = format!("Nothing new was heard of the stage {stage:?} for {limit} minutes");
                move_to(host, HostState::Error, &info);
            }
        }
        _ => {}
    }
}

/// Rules 1 and 34.
fn watch_move(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    match host.state {
        HostState::Reclaiming | HostState::ReclaimingRebooting
            if deadline::reclaim_limit(host).is_some_and(|limit| now >= limit) =>
        {
            let limit = deadline::RECLAIM_LIMIT.num_minutes();
            bind::give_up_reclaiming(
                host,
                &format!("The host has not come back within {limit} minutes"),
            );
        }
        // In the pool it counts as disconnected.
        HostState::Unbinding if now >= facts.silent_at(host) => refresh_in_pool(host, facts, now),
        _ => {}
    }
}
