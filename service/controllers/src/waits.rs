//! Publishes Kubernetes Events for waits: for each that is longer than a minute, and then at growing intervals.
//!
//! Reconciles say what an object waits for ([`Waits::set`]), however often they run; one task publishes when it is time. When
//! that is follows from the beginning of the wait, so that a restart repeats nothing.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_operations::now;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::events::{self, Events};

/// A wait that is longer gets an Event; the next ones follow after twice the time each.
pub const FIRST: Duration = Duration::from_secs(60);

/// Longest interval between two Events about one wait. The API server keeps Events for an hour.
const LONGEST: Duration = Duration::from_secs(3600);

/// What an object waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// For programs: the Event's reason, in capitals and small letters. With `since` it tells one wait from the next.
    pub reason: &'static str,
    /// A sentence without a full stop: what is waited for, and why it has not come.
    pub what: String,
    pub since: Timestamp,
    /// Time at which it is given up, and what follows then, as a sentence's end; `None`: never.
    pub until: Option<(Timestamp, &'static str)>,
    /// Sentences that say what a user can do; empty: nothing needs to be done.
    pub todo: String,
    /// True when nothing goes on without a user.
    pub needs_user: bool,
}

impl Wait {
    /// As one text: what, since when, until when, what to do.
    pub fn text(&self) -> String {
        let mut text = format!("{}. Since {}", self.what, self.since.format("%H:%M:%S UTC"));
        match self.until {
            Some((until, then)) => {
                text += &format!(", until {}: {then}.", until.format("%H:%M:%S UTC"));
            }
            None => text += ", without an end.",
        }
        if !self.todo.is_empty() {
            text += &format!(" {}", self.todo);
        }
        text
    }

    fn is_same_as(&self, other: &Self) -> bool {
        (self.reason, self.since) == (other.reason, other.since)
    }
}

/// Waits of objects.
#[derive(Default)]
pub struct Waits {
    known: Mutex<HashMap<String, Known>>,
    changed: Notify,
}

struct Known {
    object: ObjectReference,
    wait: Wait,
    /// Of the next Event.
    due: Timestamp,
}

impl Waits {
    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what an object waits for; `None`: for nothing (any more).
    pub fn set(&self, object: &ObjectReference, wait: Option<Wait>) {
        let key = object.uid.clone().unwrap_or_default();
        let mut known = self.known();
        let Some(wait) = wait else {
            known.remove(&key);
            return;
        };
        if let Some(before) = known.get_mut(&key).filter(|before| before.wait.is_same_as(&wait)) {
            before.wait = wait;
            return;
        }
        let due = due_after(wait.since, now());
        let object = object.clone();
        known.insert(key, Known { object, wait, due });
        drop(known);
        self.changed.notify_one();
    }

    /// Publishes until it is dropped.
    pub async fn publish(&self, events: &Events) {
        loop {
            let time = now();
            let next = self.publish_due(events, time);
            let pause = next.map_or(LONGEST, |next| (next - time).to_std().unwrap_or_default());
            tokio::select! {
                () = sleep(pause) => {}
                () = self.changed.notified() => {}
            }
        }
    }

    /// Publishes what is due. Answers when the next is.
    fn publish_due(&self, events: &Events, time: Timestamp) -> Option<Timestamp> {
        let mut known = self.known();
        for one in known.values_mut().filter(|one| one.due <= time) {
            let type_ = if one.wait.needs_user {
                EventType::Warning
            } else {
                EventType::Normal
            };
            let event = events::event(type_, "Wait", one.wait.reason, &one.wait.text());
            events.publish(event, one.object.clone());
            one.due = due_after(one.wait.since, time);
        }
        known.values().map(|one| one.due).min()
    }
}

/// Time of the first Event after `time` about a wait since `since`: after 1, 2, 4, ... minutes, then every hour.
fn due_after(since: Timestamp, time: Timestamp) -> Timestamp {
    let mut due = since + FIRST;
    let mut interval = FIRST;
    while due <= time {
        if interval >= LONGEST {
            let late = (time - due).num_seconds().max(0).unsigned_abs();
            return due + LONGEST * u32::try_from(late / LONGEST.as_secs() + 1).unwrap_or(u32::MAX);
        }
        due += interval;
        interval *= 2;
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap()
    }

    fn minutes_of_events(from: i64, to: i64) -> Vec<i64> {
        let mut minutes = Vec::new();
        let mut time = at(from);
        loop {
            time = due_after(at(0), time);
            if time > at(to) {
                return minutes;
            }
            minutes.push((time - at(0)).num_minutes());
        }
    }

    #[test]
    fn events_come_at_growing_intervals_and_then_every_hour() {
        assert_eq!(
            minutes_of_events(0, 6 * 3600),
            [1, 2, 4, 8, 16, 32, 64, 124, 184, 244, 304]
        );
        assert_eq!(minutes_of_events(59, 100), [1]);
        assert_eq!(
            minutes_of_events(300, 1000),
            [8, 16],
            "what was published before a restart is not repeated"
        );
    }

    fn wait(reason: &'static str, since: i64, what: &str) -> Wait {
        Wait {
            reason,
            what: what.into(),
            since: at(since),
            until: Some((at(2400), "it counts as not booted")),
            todo: "Look at its console.".into(),
            needs_user: false,
        }
    }

    fn object(uid: &str) -> ObjectReference {
        ObjectReference {
            uid: Some(uid.into()),
            ..ObjectReference::default()
        }
    }

    #[test]
    fn a_wait_is_published_when_it_is_due_however_often_it_is_set() {
        let (events, mut queued) = Events::new();
        let waits = Waits::default();
        let now = now();
        let since = (now - at(0)).num_seconds();
        for n in 0..5 {
            waits.set(&object("a"), Some(wait("Booting", since, &format!("look {n}"))));
        }
        assert!(waits.publish_due(&events, now).is_some() && queued.try_recv().is_err());
        let soon = now + Duration::from_secs(61);
        waits.publish_due(&events, soon);
        waits.publish_due(&events, soon);
        let (event, _) = queued.try_recv().unwrap();
        let note = event.note.unwrap();
        assert!(note.contains("look 4") && note.contains("console"), "{note}");
        assert!(queued.try_recv().is_err(), "once");
        waits.set(&object("a"), Some(wait("Joining", since, "another")));
        waits.publish_due(&events, soon);
        assert_eq!(queued.try_recv().unwrap().0.reason, "Joining");
        waits.set(&object("a"), None);
        assert_eq!(waits.publish_due(&events, now + Duration::from_secs(9999)), None);
        assert!(queued.try_recv().is_err());
    }

    #[test]
    fn a_text_says_what_since_until_and_what_to_do() {
        let text = wait("Booting", 0, "The host reboots").text();
        assert_eq!(
            text,
            "The host reboots. Since 11:06:40 UTC, until 11:46:40 UTC: it counts as not booted. Look at its console."
        );
        let endless = Wait {
            until: None,
            todo: String::new(),
            ..wait("Booting", 0, "The host reboots")
        };
        assert_eq!(
            endless.text(),
            "The host reboots. Since 11:06:40 UTC, without an end."
        );
    }
}
