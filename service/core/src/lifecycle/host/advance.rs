//! Applies an event to a host: the one function that changes one.

use muster_api::host::{HostRole, MediaStatus};
use muster_api::time::Timestamp;
use muster_api::validation::ValidationStatus;

use super::edit::{approval, overrides};
use super::event::HostEvent;
use super::install::{progress, reinstall};
use super::refresh::refresh;
use super::reports::logs;
use super::step::{Refused, Rejection, Step};
use super::{
    bind, bmc_boot, cleaning, deadline, edit, events, failures, install, media, reboot, register, reports,
    set_back, sleep, waiting,
};
use crate::record::{Host, NewEvent, Phase};
use crate::rules::facts::HostFacts;
use crate::rules::{checks, findings, identity};

/// Applies `event` to `host` at the time `now`.
///
/// A repeated event changes nothing more (`changed` is false then), except those that are reported each time: a
/// registration, a user's settings, uploaded logs, an upgrade.
///
/// # Errors
/// If the event does not fit the host; nothing changes then. The reason names the host's state and the remedy.
pub fn advance(
    host: &Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<Step, Refused> {
    let mut facts = *facts;
    let mut next = host.clone();
    let brought_back = set_back::bring_back(&mut next, now).then(|| next.clone());
    let (host, was_ahead) = (brought_back.as_ref().unwrap_or(host), brought_back.is_some());
    if matches!(event, HostEvent::Registered { .. } | HostEvent::CheckedIn) {
        facts.last_seen = Some(facts.seen(host).max(now));
    }
    let mut events = Vec::new();
    happens(&mut next, event, &facts, now, &mut events).map_err(|rejection| rejection.of(host, event))?;
    if matches!(event, HostEvent::Registered { .. }) {
        // A registration counts as a poll, but reports no time.
        facts.host_clock = None;
    }
    events.extend(bind::event_of_move(host, &next, event, &facts, now));
    Ok(finish((host, was_ahead), next, event, events, &facts, now))
}

fn happens(
    next: &mut Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    match event {
        HostEvent::Registered {
            agent_version,
            fingerprint,
            public_key,
        } => register::again(
            next,
            agent_version,
            (fingerprint.as_ref(), public_key),
            facts,
            now,
        ),
        HostEvent::CheckedIn
        | HostEvent::DeadlinePassed
        | HostEvent::FactsChanged
        | HostEvent::PeersChanged => {
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::MediaLost => {
            media::lost(next, facts, now);
            Ok(())
        }
        HostEvent::MediaBack => {
            if media::back(next) {
                refresh(next, facts, now);
            }
            Ok(())
        }
        HostEvent::InventoryReported(_)
        | HostEvent::HealthReported(_)
        | HostEvent::NtpReported(_)
        | HostEvent::ConnectivityReported(_)
        | HostEvent::FreeAddressesReported(_)
        | HostEvent::DomainsReported(_)
        | HostEvent::ApiVipReported(_)
        | HostEvent::TangReported(_)
        | HostEvent::DiskSpeedReported { .. }
        | HostEvent::ImagesReported(_)
        | HostEvent::VipsVerified(_)
        | HostEvent::UpgradeReported(_) => reports::reported(next, event, facts, now, events),
        HostEvent::BootArtifactsDownloaded => {
            media::back(next);
            match reinstall::downloaded(next, now) {
                true => Ok(()),
                false => bind::downloaded(next),
            }
        }
        HostEvent::BootArtifactsFailed => match reinstall::not_downloaded(next, now) {
            true => Ok(()),
            false => bind::not_downloaded(next),
        },
        HostEvent::StepFailed { exit_code, reason } => {
            events.push(events::muster_step_failed(next, *exit_code, reason, now));
            Ok(())
        }
        HostEvent::InstallationFailed { reason } => install::failed(next, reason),
        HostEvent::Progressed { stage, info } => {
            progress::progressed(next, (*stage, info), facts, now, events)?;
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::LogsProgressed { state } => {
            logs::progressed(next, *state, now);
            Ok(())
        }
        HostEvent::LogsUploaded => {
            logs::uploaded(next, now, events);
            Ok(())
        }
        HostEvent::AskedLogsUploaded => {
            logs::asked_ones_came(next, now, events);
            Ok(())
        }
        HostEvent::LogsNotSent { reason } => {
            logs::not_sent(next, reason);
            Ok(())
        }
        HostEvent::LogsAsked => logs::asked(next, facts, now),
        HostEvent::RebootAsked(_)
        | HostEvent::RebootWithdrawn
        | HostEvent::RebootReported { .. }
        | HostEvent::RebootedByBmc { .. } => {
            reboot::happened(next, event, facts, now);
            Ok(())
        }
        HostEvent::ReinstallAsked(request) => {
            reinstall::asked(next, request, facts, now);
            Ok(())
        }
        HostEvent::Edited(params) => {
            edit::apply(next, params, facts, now, events)?;
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::InstallerArgsSet(args) => overrides::set_installer_args(next, args, now, events),
        HostEvent::IgnitionOverrideSet(ignition) => {
            overrides::set_ignition(next, ignition, facts, now, events)
        }
        HostEvent::BootstrapIgnitionSet(ignition) => {
            overrides::set_bootstrap(next, ignition, facts)?;
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::ImageRequested(wish) => {
            overrides::request_image(next, wish)?;
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::Approved(approved) => approval::set(next, *approved, facts, now, events),
        HostEvent::ValidationReset(id) => {
            overrides::reset_validation(next, id)?;
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::Bound { cluster_id } => {
            bind::bound(next, *cluster_id, facts)?;
            sleep::claimed(next, facts, now);
            Ok(())
        }
        HostEvent::Unbound => bind::unbound(next, false, facts),
        HostEvent::Reclaimed => bind::unbound(next, true, facts),
        HostEvent::InstallRequested => install::requested(next, facts, now, events),
        HostEvent::Cancelled { reason } => install::cancelled(next, reason, now, events),
        HostEvent::ResetRequested => install::reset(next, now, events),
        HostEvent::BmcTold(boots) => {
            bmc_boot::told(next, boots);
            Ok(())
        }
        HostEvent::NodeFailed { reason } => {
            failures::node_failed(next, reason, now);
            Ok(())
        }
        HostEvent::FailuresForgotten => {
            failures::forget(next);
            Ok(())
        }
        HostEvent::ErasureReported(response) => {
            media::back(next);
            cleaning::reported(next, response, now);
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::ErasureRefused { reason } => {
            cleaning::refused(next, reason);
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::ErasureRetried => {
            cleaning::retried(next, facts, now)?;
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::ErasureSkipped => {
            cleaning::skipped(next, now)?;
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::Sleep(event) => {
            sleep::happened(next, event, facts, now)?;
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::IdClaimed(finding) => {
            identity::note(next, finding.clone());
            Ok(())
        }
        HostEvent::IdentitySettled { other } => {
            identity::settle(next, *other);
            Ok(())
        }
    }
}

/// `was_ahead`: times of the stored host were brought back into `old`.
fn finish(
    (old, was_ahead): (&Host, bool),
    mut next: Host,
    event: &HostEvent,
    mut events: Vec<NewEvent>,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Step {
    let (from, to) = (old.state.status(), next.state.status());
    if from != to {
        next.data.status_updated_at = now;
    }
    failures::follow(old, &mut next, event, facts, now);
    cleaning::follow(old, &mut next, event, facts, now);
    reinstall::follow(&mut next, now);
    waiting::note(&mut next, facts, now);
    let due = deadline::due_at(&next, facts);
    let content_changed = was_ahead || next != *old;
    // An early deadline does no harm: evaluation moves it on.
    let due_changed = if *event == HostEvent::DeadlinePassed {
        due != old.due_at
    } else {
        due.is_some() != old.due_at.is_some()
    };
    if !content_changed && !due_changed && events.is_empty() {
        return Step {
            host: next,
            events: Vec::new(),
            transition: None,
            changed: false,
            only_due_at: false,
        };
    }
    if content_changed {
        next.data.updated_at = now;
    }
    if let Some((clock, told_at)) = facts.clock(old) {
        next.data.timestamp = clock;
        next.data.timestamp_at = Some(told_at);
    }
    next.checked_in_at = facts.seen(old);
    next.due_at = due;
    let transition = (from != to).then(|| (from, to, next.data.status_info.clone()));
    let only_due_at = !content_changed && events.is_empty();
    events.extend(events_of_change(old, &next, now));
    Step {
        events,
        host: next,
        transition,
        changed: true,
        only_due_at,
    }
}

/// The events about the change from `old` to `next`.
fn events_of_change(old: &Host, next: &Host, now: Timestamp) -> Vec<NewEvent> {
    let mut events = Vec::new();
    let lost = Some(MediaStatus::Disconnected);
    if next.data.media_status == lost && old.data.media_status != lost {
        events.push(events::host_media_disconnected(next, now));
    }
    let suggested = next.data.suggested_role != old.data.suggested_role
        && next.data.role == HostRole::AutoAssign
        && next.state.phase() == Phase::PreInstall;
    if suggested {
        events.push(events::host_role_updated(next, now));
    }
    for row in next.data.validations.values().flatten() {
        // The first outcome of a check is no event.
        let Some(before) = checks::find_by_id(&old.data.validations, &row.id) else {
            continue;
        };
        let (was, is) = (before.status, row.status);
        if is == ValidationStatus::Failure && was != ValidationStatus::Failure {
            let used_to_succeed = was == ValidationStatus::Success;
            events.push(events::host_validation_failed(
                next,
                &row.id,
                &row.message,
                used_to_succeed,
                now,
            ));
        } else if was == ValidationStatus::Failure && is == ValidationStatus::Success {
            events.push(events::host_validation_fixed(next, &row.id, now));
        }
    }
    finding_events(old, next, now, &mut events);
    reboot::events_of_change(old, next, now, &mut events);
    cleaning::events_of_change(old, next, now, &mut events);
    sleep::events_of_change(old, next, now, &mut events);
    reinstall::events_of_change(old, next, now, &mut events);
    if old.state.status() != next.state.status() {
        events.push(events::host_status_updated(next, old.state.status(), now));
    }
    events
}

fn finding_events(old: &Host, next: &Host, now: Timestamp, events: &mut Vec<NewEvent>) {
    let (appeared, gone) = findings::changed(&old.data.findings, &next.data.findings);
    for finding in appeared {
        events.push(events::finding_appeared(next, finding, now));
    }
    for finding in gone {
        events.push(events::finding_gone(next, finding, now));
    }
}
