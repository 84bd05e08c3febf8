//! Erases the disks of a host that has left a cluster, before it is available again (docs/erasing.md).
//!
//! Only the record begins an erasure: a host that was in a cluster and was taken out of it. No registration does. The step is sent while the
//! host is unbound, in discovery and with an inventory that it reported since it left.

use chrono::Duration;
use muster_api::event::Severity;
use muster_api::host::HostStage;
use muster_api::infra_env::CleaningDepth;
use muster_api::steps::{DiskErasure, EraseDisksRequest, EraseDisksResponse};
use muster_api::time::Timestamp;

use super::event::HostEvent;
use super::events;
use super::step::Rejection;
use crate::record::{
    Cleaned, Cleaning, CleaningOutcome, CleaningStage, Host, HostState, NewEvent, NodeAgent, WrittenDisk,
};
use crate::rules::cleaning as rules;
use crate::rules::facts::{Deadlines, HostFacts};
use crate::rules::failures::has_touched_disk;
use crate::rules::findings::CANNOT_BE_ERASED;
use crate::rules::{agent_version, hostname};
use crate::text::one_line;

/// Most disks that are remembered as written to.
const MAX_WRITTEN: usize = 16;

/// Most erasures that are kept after their end.
const MAX_KEPT: usize = 5;

/// Registrations in the middle of one attempt, after which it has failed: something restarts the machine each time.
const MAX_RESTARTS: u32 = 10;

/// Time after a registration in which a disk may still appear: disks with motors, and those behind expanders or a SAN.
const LATE: Duration = Duration::minutes(5);

/// The request to install: the disk is remembered as it is now.
pub(super) fn installation_begins(host: &mut Host) {
    host.data.written_disks.retain(|disk| disk.is_written);
    if let Some(target) = rules::target(host) {
        remember(host, target);
    }
}

fn remember(host: &mut Host, disk: WrittenDisk) {
    let known = &mut host.data.written_disks;
    if known.iter().any(|known| rules::is_same(known, &disk)) {
        return;
    }
    if known.len() >= MAX_WRITTEN {
        known.remove(0);
    }
    known.push(disk);
}

/// Derives from the change from `old` to `next` which disks were written to, and whether they are to be erased.
pub(super) fn follow(old: &Host, next: &mut Host, event: &HostEvent, facts: &HostFacts<'_>, now: Timestamp) {
    if next.cluster_id.is_some() {
        note_written(next);
        // A record of an earlier version, whose installation this event ends.
        if next.data.written_disks.is_empty() && old.cluster_id.is_some() && has_touched_disk(stage(old)) {
            next.data.written_disks = written(old);
        }
    } else if old.cluster_id.is_some() {
        left(old, next, facts, now);
    }
    if matches!(event, HostEvent::Registered { .. })
        && let Some(cleaning) = &mut next.data.cleaning
    {
        cleaning.awaits_disk = false;
        match &mut cleaning.stage {
            // The agent has restarted, and begins again.
            CleaningStage::Erasing { .. } => {
                cleaning.restarts = cleaning.restarts.saturating_add(1);
                cleaning.stage = if cleaning.restarts < MAX_RESTARTS {
                    CleaningStage::Waiting { why: String::new() }
                } else {
                    CleaningStage::Failed {
                        at: now,
                        why: format!(
                            "its agent has registered again {MAX_RESTARTS} times before it was done; see what restarts the machine"
                        ),
                        goes_on: false,
                    }
                };
                cleaning.disks.clear();
            }
            CleaningStage::Failed { goes_on, .. } => *goes_on = false,
            CleaningStage::Waiting { .. } => {}
        }
    }
    let cleaning = next.data.cleaning.as_ref();
    let finding = cleaning.and_then(rules::finding);
    next.data.set_finding(CANNOT_BE_ERASED, finding);
}

/// Marks the disk of an installation that has reported a stage in which it may have written.
fn note_written(host: &mut Host) {
    if !has_touched_disk(stage(host)) {
        return;
    }
    // Records of earlier versions have no disk yet.
    if host.data.written_disks.is_empty()
        && let Some(target) = rules::target(host)
    {
        remember(host, target);
    }
    for disk in &mut host.data.written_disks {
        disk.is_written = true;
    }
}

fn stage(host: &Host) -> Option<HostStage> {
    host.data.progress.as_ref().map(|progress| progress.stage)
}

/// The disks that installations have written to.
fn written(host: &Host) -> Vec<WrittenDisk> {
    let mut host = host.clone();
    note_written(&mut host);
    let mut written = host.data.written_disks;
    written.retain(|disk| disk.is_written);
    written
}

/// The host was taken out of its cluster.
fn left(old: &Host, next: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    let was_touched = has_touched_disk(stage(old));
    next.data.written_disks = written(old);
    let settings = facts.infra_env.settings.cleaning;
    let cleaning = new(settings, now, 1, now);
    if next.data.written_disks.is_empty() {
        if was_touched {
            let why = "which disk was installed to is not known; erase it by hand if it must be";
            next.data.cleaning = Some(cleaning);
            over(next, CleaningOutcome::NotErased, why, now);
        }
        return;
    }
    next.data.cleaning = Some(cleaning);
    if settings.depth == CleaningDepth::None {
        over(
            next,
            CleaningOutcome::NotErased,
            "its InfraEnv has cleaning: none",
            now,
        );
    }
}

fn new(
    settings: muster_api::infra_env::Cleaning,
    since: Timestamp,
    attempt: u32,
    now: Timestamp,
) -> Cleaning {
    Cleaning {
        id: format!("{}-{attempt}", now.timestamp_millis()),
        since,
        attempt,
        settings,
        stage: CleaningStage::Waiting { why: String::new() },
        restarts: 0,
        awaits_disk: false,
        disks: Vec::new(),
    }
}

/// Begins an erasure, or gives one up that is late. The host is unbound, reaches the service, and has reported its inventory since it left.
pub(super) fn proceed(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    let Some(cleaning) = &host.data.cleaning else {
        return;
    };
    match &cleaning.stage {
        CleaningStage::Failed { .. } => {}
        CleaningStage::Waiting { .. } | CleaningStage::Erasing { .. }
            if facts.in_cluster_through.is_some() =>
        {
            hold(host, facts.in_cluster_through.unwrap_or_default());
        }
        CleaningStage::Waiting { .. } => begin(host, facts, now),
        CleaningStage::Erasing { .. } => watch(host, facts, now),
    }
}

/// The host has no inventory at present: what it erases goes on, and its time does.
pub(super) fn without_inventory(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    if let Some(cleaning) = &mut host.data.cleaning {
        cleaning.awaits_disk = false;
        if matches!(cleaning.stage, CleaningStage::Erasing { .. }) {
            watch(host, facts, now);
        }
    }
}

/// The machine was booted into another InfraEnv since, and is in a cluster through that: its disk is no longer what was left.
fn hold(host: &mut Host, infra_env: &str) {
    if let Some(cleaning) = &mut host.data.cleaning {
        let why = format!(
            "the machine is in a cluster through the InfraEnv {infra_env}; take it out there, or delete the host here"
        );
        cleaning.stage = CleaningStage::Waiting { why };
        cleaning.awaits_disk = false;
        cleaning.disks.clear();
    }
}

fn begin(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    let Some(settings) = host.data.cleaning.as_ref().map(|cleaning| cleaning.settings) else {
        return;
    };
    // Their program has no such step.
    if !agent_version::is_own(&host.data.discovery_agent_version) {
        let why =
            "its agent is of another make, which erases no disks; boot the Muster image to have that done";
        over(host, CleaningOutcome::NotErased, why, now);
        return;
    }
    let chosen = rules::chosen(host, settings);
    let late_until = host.data.registered_at + LATE;
    let Some(cleaning) = &mut host.data.cleaning else {
        return;
    };
    let missing = chosen.iter().flatten().find(|known| !known.is_present);
    cleaning.awaits_disk = missing.is_some() && now < late_until;
    if let Some(missing) = missing
        && cleaning.awaits_disk
    {
        let why = format!(
            "{} is not there; it is waited for until {}",
            rules::called(&missing.disk),
            rules::time(late_until)
        );
        cleaning.stage = CleaningStage::Waiting { why };
        return;
    }
    match chosen {
        Err(why) => {
            cleaning.stage = CleaningStage::Failed {
                at: now,
                why,
                goes_on: false,
            };
        }
        Ok(disks) => {
            let is_there = disks.iter().any(|known| known.is_present);
            cleaning.disks = disks;
            if is_there {
                cleaning.stage = CleaningStage::Erasing {
                    began_at: now,
                    moved_at: now,
                    until: now,
                    problem: String::new(),
                };
                renew(cleaning, facts);
            } else {
                let why = "the disks that were installed to are not there any more";
                over(host, CleaningOutcome::NotErased, why, now);
            }
        }
    }
}

fn watch(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    let has_returned = host.state == HostState::DisconnectedUnbound;
    let Some(cleaning) = &mut host.data.cleaning else {
        return;
    };
    // It was silent, and reported nothing meanwhile.
    if has_returned && let CleaningStage::Erasing { moved_at, .. } = &mut cleaning.stage {
        *moved_at = now;
    }
    if rules::deadline(cleaning, &facts.deadlines()).is_some_and(|limit| now >= limit) {
        let problem = match &cleaning.stage {
            CleaningStage::Erasing { problem, .. } if !problem.is_empty() => {
                format!(". Its agent: {problem}")
            }
            _ => String::new(),
        };
        cleaning.stage = CleaningStage::Failed {
            at: now,
            why: format!("it made no progress in time{problem}"),
            goes_on: rules::is_under_way(cleaning),
        };
    }
    renew(cleaning, facts);
}

/// Computes the time that users see.
fn renew(cleaning: &mut Cleaning, facts: &HostFacts<'_>) {
    let deadline = rules::deadline(cleaning, &facts.deadlines());
    if let (CleaningStage::Erasing { until, .. }, Some(deadline)) = (&mut cleaning.stage, deadline) {
        *until = deadline;
    }
}

/// The reply of the agent. One about another erasure is late, and changes nothing.
pub(super) fn reported(host: &mut Host, response: &EraseDisksResponse, now: Timestamp) {
    if !awaits_reply(host) {
        return;
    }
    let Some(cleaning) = host
        .data
        .cleaning
        .as_mut()
        .filter(|cleaning| cleaning.id == response.id)
    else {
        return;
    };
    let mut has_moved = false;
    for known in cleaning.disks.iter_mut().filter(|known| known.is_present) {
        let Some(report) = response.disks.iter().find(|report| report.id == known.disk.id) else {
            continue;
        };
        let report = cleaned_up(report);
        has_moved |= known
            .report
            .as_ref()
            .is_none_or(|before| is_further(before, &report));
        known.report = Some(report);
    }
    if response.is_over {
        let Some(why) = rules::failure(cleaning) else {
            over(host, CleaningOutcome::Erased, "", now);
            return;
        };
        cleaning.stage = CleaningStage::Failed {
            at: now,
            why,
            goes_on: false,
        };
    } else if let CleaningStage::Erasing {
        moved_at, problem, ..
    } = &mut cleaning.stage
    {
        problem.clear();
        if has_moved {
            *moved_at = now;
        }
    }
}

/// The step failed as a whole: an agent of an earlier version does not know it.
pub(super) fn refused(host: &mut Host, reason: &str) {
    if !awaits_reply(host) {
        return;
    }
    if let Some(Cleaning {
        stage: CleaningStage::Erasing { problem, .. },
        ..
    }) = &mut host.data.cleaning
    {
        let reason = one_line(reason.trim(), rules::MAX_TEXT);
        *problem = if reason.is_empty() {
            "it could not begin, and gives no reason".to_owned()
        } else {
            reason
        };
    }
}

fn awaits_reply(host: &Host) -> bool {
    host.cluster_id.is_none()
        && host
            .data
            .cleaning
            .as_ref()
            .is_some_and(|cleaning| matches!(cleaning.stage, CleaningStage::Erasing { .. }))
}

/// The report within the limits of the record.
fn cleaned_up(report: &DiskErasure) -> DiskErasure {
    DiskErasure {
        id: one_line(&report.id, rules::MAX_TEXT),
        bytes_done: report.bytes_done.max(0),
        bytes_total: report.bytes_total.max(0),
        seconds: report.seconds.max(0),
        samples: report.samples.max(0),
        message: one_line(&report.message, rules::MAX_REPORT),
        ..report.clone()
    }
}

fn is_further(before: &DiskErasure, now: &DiskErasure) -> bool {
    now.bytes_done > before.bytes_done || now.state != before.state || now.method != before.method
}

/// A person requests another attempt, with the InfraEnv's present settings.
pub(super) fn retried(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) -> Result<(), Rejection> {
    let Some(cleaning) = &host.data.cleaning else {
        return Err(nothing_to_erase());
    };
    if !matches!(cleaning.stage, CleaningStage::Failed { .. }) {
        return Ok(());
    }
    let settings = facts.infra_env.settings.cleaning;
    let (since, attempt) = (cleaning.since, cleaning.attempt.saturating_add(1));
    host.data.cleaning = Some(new(settings, since, attempt, now));
    if settings.depth == CleaningDepth::None {
        over(
            host,
            CleaningOutcome::NotErased,
            "its InfraEnv has cleaning: none",
            now,
        );
    }
    Ok(())
}

/// A person makes the host available although its disks were not erased.
pub(super) fn skipped(host: &mut Host, now: Timestamp) -> Result<(), Rejection> {
    match host.data.cleaning.as_ref().map(|cleaning| &cleaning.stage) {
        None => Err(nothing_to_erase()),
        // An installation would write to the disk at the same time.
        Some(CleaningStage::Erasing { .. }) => Err(Rejection::conflict(
            "its disks are being erased; wait for the end of that, or reboot it into the discovery image and skip it then",
        )),
        Some(CleaningStage::Failed { goes_on: true, .. }) => Err(Rejection::conflict(
            "its agent may still be erasing; reboot it into the discovery image first",
        )),
        Some(CleaningStage::Waiting { .. } | CleaningStage::Failed { .. }) => {
            over(host, CleaningOutcome::Skipped, "", now);
            Ok(())
        }
    }
}

fn nothing_to_erase() -> Rejection {
    Rejection::conflict("none of its disks waits to be erased")
}

/// Ends the erasure: the host may be available. Disks that were not there stay known as written to.
fn over(host: &mut Host, outcome: CleaningOutcome, message: &str, now: Timestamp) {
    let Some(cleaning) = host.data.cleaning.take() else {
        return;
    };
    let is_gone = |disk: &WrittenDisk| {
        let mut absent = cleaning.disks.iter().filter(|known| !known.is_present);
        absent.any(|known| rules::is_same(&known.disk, disk))
    };
    host.data.written_disks.retain(is_gone);
    let kept = &mut host.data.cleaned;
    if kept.len() >= MAX_KEPT {
        kept.remove(0);
    }
    kept.push(Cleaned {
        at: now,
        settings: cleaning.settings,
        outcome,
        message: message.to_owned(),
        disks: cleaning.disks,
    });
}

/// The status of a host that is kept from being available; `None`: nothing keeps it.
pub(super) fn info(host: &Host) -> Option<String> {
    host.data.cleaning.as_ref().map(rules::describe)
}

/// The request that the host's agent gets with this poll.
pub(super) fn request(host: &Host) -> Option<EraseDisksRequest> {
    let is_free = host.cluster_id.is_none() && host.state == HostState::DiscoveringUnbound;
    let in_live_system = host.data.node_agent == NodeAgent::Absent
        && agent_version::is_own(&host.data.discovery_agent_version);
    let cleaning = host
        .data
        .cleaning
        .as_ref()
        .filter(|_| is_free && in_live_system)?;
    rules::request(cleaning)
}

/// Time by which the erasure must have progressed.
pub(super) fn deadline(host: &Host, deadlines: &Deadlines<'_>) -> Option<Timestamp> {
    rules::deadline(host.data.cleaning.as_ref()?, deadlines)
}

/// Time at which a missing disk is not waited for any more; `None`: none is waited for.
pub(super) fn late_at(host: &Host) -> Option<Timestamp> {
    let cleaning = host.data.cleaning.as_ref()?;
    cleaning.awaits_disk.then(|| host.data.registered_at + LATE)
}

/// The events about the erasure between `old` and `next`.
pub(super) fn events_of_change(old: &Host, next: &Host, now: Timestamp, told: &mut Vec<NewEvent>) {
    let name = hostname::display(next);
    let mut tell = |event: &'static str, severity, what: &str| {
        told.push(events::about(
            next,
            event,
            severity,
            &format!("Host {name}: {what}"),
            now,
        ));
    };
    if let Some(cleaned) = next.data.cleaned.last()
        && old.data.cleaned.last() != Some(cleaned)
    {
        let text = rules::describe_end(cleaned);
        let is_whole = cleaned.disks.iter().all(|known| known.is_present);
        match cleaned.outcome {
            CleaningOutcome::Erased if is_whole => tell("muster_host_erased", Severity::Info, &text),
            CleaningOutcome::Erased => tell("muster_host_erased", Severity::Warning, &text),
            CleaningOutcome::NotErased if cleaned.settings.depth == CleaningDepth::None => {
                tell("muster_host_not_erased", Severity::Info, &text);
            }
            CleaningOutcome::NotErased | CleaningOutcome::Skipped => {
                tell("muster_host_not_erased", Severity::Warning, &text);
            }
        }
    }
    let before = old.data.cleaning.as_ref();
    let Some(cleaning) = &next.data.cleaning else {
        return;
    };
    let was = before.map(|before| (&before.id, kind(&before.stage)));
    if was == Some((&cleaning.id, kind(&cleaning.stage))) {
        return;
    }
    let depth = cleaning.settings.depth.name();
    match &cleaning.stage {
        CleaningStage::Waiting { .. } if before.is_none() => tell(
            "muster_host_erasure_due",
            Severity::Info,
            &format!(
                "it has left its cluster, and its disks are erased ({depth}) before it is available again"
            ),
        ),
        CleaningStage::Waiting { .. } => {}
        CleaningStage::Erasing { .. } => {
            let disks: Vec<&str> = rules::present_disks(cleaning)
                .map(|known| rules::called(&known.disk))
                .collect();
            tell(
                "muster_host_erasure_began",
                Severity::Info,
                &format!("{} to be erased ({depth})", disks.join(", ")),
            );
        }
        CleaningStage::Failed { why, .. } => {
            tell(
                "muster_host_erasure_failed",
                Severity::Error,
                &format!("its disks cannot be erased, so it is not available: {why}"),
            );
        }
    }
}

fn kind(stage: &CleaningStage) -> std::mem::Discriminant<CleaningStage> {
    std::mem::discriminant(stage)
}
