//! Applies an event to a host: the one function that changes one.

mod happens;

use muster_api::host::{HostRole, MediaStatus};
use muster_api::time::Timestamp;
use muster_api::validation::ValidationStatus;

use super::event::HostEvent;
use super::install::reinstall;
use super::step::{Refused, Step};
use super::{bind, cleaning, deadline, events, failures, reboot, set_back, sleep, waiting};
use crate::record::{Host, NewEvent, Phase};
use crate::rules::facts::HostFacts;
use crate::rules::{checks, findings};

use self::happens::happens;

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
