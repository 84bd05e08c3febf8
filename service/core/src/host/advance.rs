//! The one function that changes a host.

use muster_api::host::MediaStatus;
use muster_api::time::Timestamp;
use muster_api::validation::ValidationStatus;

use super::facts::HostFacts;
use super::refresh::refresh;
use super::step::{RefusalClass, Refused, Step};
use super::{Host, HostEvent, HostState, disks, edit, news, register};
use crate::event::NewEvent;
use crate::validate;

/// What becomes of `host` when `event` happens at `now`.
///
/// Repeating an event changes nothing more (`changed` is false then), a registration excepted.
///
/// # Errors
/// When the event does not fit the host; nothing changes then.
pub fn advance(
    host: &Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<Step, Refused> {
    let mut facts = *facts;
    let mut next = host.clone();
    match event {
        HostEvent::Registered { agent_version } => {
            register::again(&mut next, agent_version, &facts, now)?;
            // A registration is a sign of life, but tells no time.
            facts.last_seen = Some(facts.seen(host).max(now));
            facts.host_clock = None;
        }
        HostEvent::CheckedIn => {
            facts.last_seen = Some(facts.seen(host).max(now));
            refresh(&mut next, &facts, now);
        }
        HostEvent::InventoryReported(inventory) => {
            accepts_reports(host, event)?;
            let mut inventory = inventory.clone();
            next.data.agent_disk_reasons = disks::adopt(&mut inventory);
            next.inventory = Some(inventory);
            medium_is_back(&mut next);
            refresh(&mut next, &facts, now);
        }
        HostEvent::NtpReported(sources) => {
            accepts_reports(host, event)?;
            next.data.ntp_sources = Some(sources.clone());
            medium_is_back(&mut next);
            refresh(&mut next, &facts, now);
        }
        HostEvent::MediaLost => {
            next.data.media_status = Some(MediaStatus::Disconnected);
            refresh(&mut next, &facts, now);
        }
        HostEvent::MediaBack => {
            if next.data.media_status == Some(MediaStatus::Disconnected) {
                medium_is_back(&mut next);
                refresh(&mut next, &facts, now);
            }
        }
        HostEvent::BootArtifactsDownloaded => {
            return Err(refused(
                host,
                event,
                "it was not asked to download boot artifacts",
            ));
        }
        HostEvent::Edited(params) => {
            edit::apply(&mut next, params)?;
            refresh(&mut next, &facts, now);
        }
        HostEvent::DeadlinePassed | HostEvent::FactsChanged => refresh(&mut next, &facts, now),
    }
    Ok(finish(host, next, event, &facts, now))
}

fn medium_is_back(host: &mut Host) {
    if host.data.media_status == Some(MediaStatus::Disconnected) {
        host.data.media_status = Some(MediaStatus::Connected);
    }
}

/// Reports are taken in every state of the pool; those in which a host has other things to do refuse them.
fn accepts_reports(host: &Host, _event: &HostEvent) -> Result<(), Refused> {
    match host.state {
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound => Ok(()),
    }
}

fn refused(host: &Host, event: &HostEvent, why: &str) -> Refused {
    let status = host.state.status();
    Refused {
        class: RefusalClass::NotAccepted,
        status: Some(status),
        event: event.name(),
        reason: format!(
            "The host is {}, and does not take {}: {why}",
            status.name(),
            event.name()
        ),
    }
}

/// When a host in this state must be looked at again though nobody speaks.
fn due_at(host: &Host, facts: &HostFacts<'_>) -> Option<Timestamp> {
    match host.state {
        HostState::DiscoveringUnbound | HostState::KnownUnbound | HostState::InsufficientUnbound { .. } => {
            Some(facts.silent_at(host))
        }
        // It comes back by itself.
        HostState::DisconnectedUnbound => None,
    }
}

fn finish(old: &Host, mut next: Host, event: &HostEvent, facts: &HostFacts<'_>, now: Timestamp) -> Step {
    let due = due_at(&next, facts);
    let content_changed = next != *old;
    let due_changed = match event {
        HostEvent::DeadlinePassed => due != old.due_at,
        HostEvent::Registered { .. }
        | HostEvent::CheckedIn
        | HostEvent::InventoryReported(_)
        | HostEvent::NtpReported(_)
        | HostEvent::MediaLost
        | HostEvent::MediaBack
        | HostEvent::BootArtifactsDownloaded
        | HostEvent::Edited(_)
        // An early deadline does no harm: it is looked at again and moved on.
        | HostEvent::FactsChanged => due.is_some() != old.due_at.is_some(),
    };
    if !content_changed && !due_changed {
        return Step {
            host: next,
            events: Vec::new(),
            transition: None,
            changed: false,
            only_due_at: false,
        };
    }
    let (from, to) = (old.state.status(), next.state.status());
    if from != to {
        next.data.status_updated_at = now;
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
    Step {
        events: told(old, &next, now),
        host: next,
        transition,
        changed: true,
        only_due_at: !content_changed,
    }
}

/// Everything that is worth telling about the way from `old` to `next`.
fn told(old: &Host, next: &Host, now: Timestamp) -> Vec<NewEvent> {
    let mut events = Vec::new();
    let lost = Some(MediaStatus::Disconnected);
    if next.data.media_status == lost && old.data.media_status != lost {
        events.push(news::host_media_disconnected(next, now));
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
    if old.state.status() != next.state.status() {
        events.push(news::host_status_updated(next, old.state.status(), now));
    }
    events
}
