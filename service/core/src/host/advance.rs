//! The one function that changes a host.

use muster_api::host::{HostRole, MediaStatus};
use muster_api::time::Timestamp;
use muster_api::validation::ValidationStatus;

use super::facts::HostFacts;
use super::refresh::refresh;
use super::step::{Refused, Step};
use super::{
    Host, HostEvent, Phase, approval, bind, deadline, edit, identity, install, logs, media, news, overrides,
    register, reports,
};
use crate::event::NewEvent;
use crate::{findings, validate};

/// What becomes of `host` when `event` happens at `now`.
///
/// Repeating an event changes nothing more (`changed` is false then), except those that are told each time: a registration, what a user
/// sets, logs that come, an upgrade.
///
/// # Errors
/// When the event does not fit the host; nothing changes then. The reason names the host's state and says what to do.
pub fn advance(
    host: &Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<Step, Refused> {
    let mut facts = *facts;
    if matches!(event, HostEvent::Registered { .. } | HostEvent::CheckedIn) {
        facts.last_seen = Some(facts.seen(host).max(now));
    }
    let mut next = host.clone();
    let mut news = Vec::new();
    happens(&mut next, event, &facts, now, &mut news)?;
    if matches!(event, HostEvent::Registered { .. }) {
        // A registration is a sign of life, but tells no time.
        facts.host_clock = None;
    }
    news.extend(bind::told(host, &next, event, &facts, now));
    Ok(finish(host, next, event, news, &facts, now))
}

fn happens(
    next: &mut Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
    news: &mut Vec<NewEvent>,
) -> Result<(), Refused> {
    match event {
        HostEvent::Registered {
            agent_version,
            fingerprint,
        } => register::again(next, event, (agent_version, fingerprint.as_ref()), facts, now),
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
        | HostEvent::NtpReported(_)
        | HostEvent::ConnectivityReported(_)
        | HostEvent::FreeAddressesReported(_)
        | HostEvent::DomainsReported(_)
        | HostEvent::ApiVipReported(_)
        | HostEvent::TangReported(_)
        | HostEvent::DiskSpeedReported { .. }
        | HostEvent::ImagesReported(_)
        | HostEvent::VipsVerified(_)
        | HostEvent::UpgradeReported(_) => reports::reported(next, event, facts, now, news),
        HostEvent::BootArtifactsDownloaded => {
            media::back(next);
            bind::downloaded(next, event)
        }
        HostEvent::BootArtifactsFailed => bind::not_downloaded(next, event),
        HostEvent::InstallationFailed { reason } => install::failed(next, event, reason),
        HostEvent::Progressed { stage, info } => {
            install::progressed(next, event, (stage, info), facts, now, news)?;
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::LogsProgressed { state } => logs::progressed(next, event, state, now),
        HostEvent::LogsUploaded => {
            logs::uploaded(next, now, news);
            Ok(())
        }
        HostEvent::Edited(params) => {
            edit::apply(next, params, facts)?;
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::InstallerArgsSet(args) => overrides::set_installer_args(next, event, args, now, news),
        HostEvent::IgnitionOverrideSet(ignition) => overrides::set_ignition(next, event, ignition, now, news),
        HostEvent::Approved(approved) => approval::set(next, event, *approved, facts, now, news),
        HostEvent::ValidationReset(id) => {
            overrides::reset_validation(next, event, id)?;
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::Bound { cluster_id } => bind::bound(next, event, *cluster_id, facts),
        HostEvent::Unbound => bind::unbound(next, event, false, facts),
        HostEvent::Reclaimed => bind::unbound(next, event, true, facts),
        HostEvent::InstallRequested => install::requested(next, event, facts, now, news),
        HostEvent::Cancelled { reason } => install::cancelled(next, event, reason, now, news),
        HostEvent::ResetRequested => install::reset(next, event, now, news),
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

fn finish(
    old: &Host,
    mut next: Host,
    event: &HostEvent,
    mut news: Vec<NewEvent>,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Step {
    let (from, to) = (old.state.status(), next.state.status());
    if from != to {
        next.data.status_updated_at = now;
    }
    let due = deadline::due_at(&next, facts);
    let content_changed = next != *old;
    // An early deadline does no harm: it is looked at again and moved on.
    let due_changed = if *event == HostEvent::DeadlinePassed {
        due != old.due_at
    } else {
        due.is_some() != old.due_at.is_some()
    };
    if !content_changed && !due_changed && news.is_empty() {
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
    let only_due_at = !content_changed && news.is_empty();
    news.extend(told(old, &next, now));
    Step {
        events: news,
        host: next,
        transition,
        changed: true,
        only_due_at,
    }
}

/// Everything that is worth telling about the way from `old` to `next`.
fn told(old: &Host, next: &Host, now: Timestamp) -> Vec<NewEvent> {
    let mut events = Vec::new();
    let lost = Some(MediaStatus::Disconnected);
    if next.data.media_status == lost && old.data.media_status != lost {
        events.push(news::host_media_disconnected(next, now));
    }
    let suggested = next.data.suggested_role != old.data.suggested_role
        && next.data.role == HostRole::AutoAssign
        && next.state.phase() == Phase::PreInstall;
    if suggested {
        events.push(news::host_role_updated(next, now));
    }
    for row in next.data.validations.values().flatten() {
        // A check that is made for the first time is no news.
        let Some(before) = validate::find(&old.data.validations, &row.id) else {
            continue;
        };
        let (was, is) = (before.status, row.status);
        if is == ValidationStatus::Failure && was != ValidationStatus::Failure {
            let used_to_succeed = was == ValidationStatus::Success;
            events.push(news::host_validation_failed(
                next,
                &row.id,
                &row.message,
                used_to_succeed,
                now,
            ));
        } else if was == ValidationStatus::Failure && is == ValidationStatus::Success {
            events.push(news::host_validation_fixed(next, &row.id, now));
        }
    }
    findings_told(old, next, now, &mut events);
    if old.state.status() != next.state.status() {
        events.push(news::host_status_updated(next, old.state.status(), now));
    }
    events
}

fn findings_told(old: &Host, next: &Host, now: Timestamp, events: &mut Vec<NewEvent>) {
    let (appeared, gone) = findings::changed(&old.data.findings, &next.data.findings);
    for finding in appeared {
        events.push(news::finding_appeared(next, finding, now));
    }
    for finding in gone {
        events.push(news::finding_gone(next, finding, now));
    }
}
