//! Publishes Kubernetes Events for waits: for each that is longer than a minute, and then at growing intervals; also when its
//! text has changed, and when it becomes overdue, which the condition of the wait shows as well.
//!
//! Reconciles set the wait of an object ([`Waits::set`], [`Waits::tell`]), however often they run; one task publishes when it
//! is time. The time follows from the beginning of the wait, so that a restart repeats nothing.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_api::time::now;
use muster_resources::StandardCondition;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::conditions::{self, ListedCondition};
use super::events::{self, Events};

/// A wait that is longer gets an Event; the next ones follow after twice the time each.
pub const FIRST: Duration = Duration::from_secs(60);

/// Longest interval between two Events about one wait. The API server keeps Events for an hour.
const LONGEST: Duration = Duration::from_secs(3600);

/// Least time between two Events about one wait with a changing text: the texts of many hosts change all the time.
const CHANGED: Duration = Duration::from_secs(300);

/// Least time between two checks of all waits: the waits of ten thousand hosts that boot together are due one after the other.
const LOOK: Duration = Duration::from_secs(1);

/// Minutes within which a host that is approved and on comes up as a node. Source: docs/protocol/capi-agent-provider.md#8.2
/// (node startup of a MachineHealthCheck).
pub const NODE_MINUTES: u64 = 20;

/// Minutes within which a host is installed, even with a slow disk and firmware: the limits of its beginning (20), of writing its
/// image (30) and of its reboot (40), and time to join. Source: docs/protocol/host-lifecycle.md#5.
pub const INSTALLATION_MINUTES: u64 = 120;

/// A wait of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The reason, for programs: the Event's reason, in camel case. Together with `since` it identifies a wait.
    pub reason: &'static str,
    /// A sentence without a full stop: what is awaited, and why it has not happened.
    pub what: String,
    pub since: Timestamp,
    /// The end; `None`: the wait has none.
    pub until: Option<Until>,
    /// Sentences with advice for a user; empty: nothing needs to be done.
    pub todo: String,
    /// True if nothing continues without a user.
    pub needs_user: bool,
}

/// The end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The wait is given up then; what follows, as the end of a sentence.
    GivenUp(Timestamp, &'static str),
    /// The wait should be over by then. It continues all the same, and its condition shows that it is overdue.
    Due(Timestamp),
}

/// The time that a wait should take at most, and what a user can do about it: sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub within: Duration,
    pub todo: &'static str,
}

impl Limit {
    pub const fn minutes(minutes: u64, todo: &'static str) -> Self {
        Self {
            within: Duration::from_secs(60 * minutes),
            todo,
        }
    }
}

impl Wait {
    /// Returns the wait of a condition: since it has its status, with its message as the reason.
    pub fn of_condition(condition: &StandardCondition, reason: &'static str, limit: Limit) -> Self {
        let since = condition.last_transition_time.0.as_second();
        let since = Timestamp::from_timestamp(since, 0).unwrap_or_default();
        let what = match conditions::without_overdue(&condition.message) {
            "" => format!("{} is {}", condition.type_, condition.status),
            message => message.to_owned(),
        };
        Self {
            reason,
            what,
            since,
            until: Some(Until::Due(since + limit.within)),
            todo: limit.todo.to_owned(),
            needs_user: false,
        }
    }

    /// Returns one text: what, since when, until when, what to do.
    pub fn text(&self, now: Timestamp) -> String {
        let mut text = format!("{}. Since {}", self.what, stamp(self.since));
        text += &match self.until {
            Some(Until::GivenUp(until, then)) => format!(", until {}: {then}.", stamp(until)),
            Some(Until::Due(by)) if by > now => format!(", expected to end by {}.", stamp(by)),
            Some(Until::Due(by)) => format!(", overdue since {}.", stamp(by)),
            None => ", without an end.".to_owned(),
        };
        if !self.todo.is_empty() {
            text += &format!(" {}", self.todo);
        }
        text
    }

    /// Time since which the wait is overdue, or will be.
    fn due(&self) -> Option<Timestamp> {
        match self.until {
            Some(Until::Due(by)) => Some(by),
            Some(Until::GivenUp(..)) | None => None,
        }
    }

    fn is_overdue(&self, now: Timestamp) -> bool {
        self.due().is_some_and(|by| by <= now)
    }

    fn is_same_as(&self, other: &Self) -> bool {
        (self.reason, self.since) == (other.reason, other.since)
    }

    /// Returns the same wait with a later beginning.
    fn begun_at(self, since: Timestamp) -> Self {
        let later = since - self.since;
        let until = match self.until {
            Some(Until::Due(by)) => Some(Until::Due(by + later)),
            other => other,
        };
        Self { since, until, ..self }
    }
}

fn stamp(at: Timestamp) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Waits of objects.
#[derive(Default)]
pub struct Waits {
    known: Mutex<HashMap<String, Known>>,
    changed: Notify,
}

struct Known {
    object: ObjectReference,
    /// The wait as it was set.
    set: Wait,
    /// The wait with the time from which it counts.
    wait: Wait,
    /// Time of the next Event.
    due: Timestamp,
    /// Time of the last Event.
    told: Option<Timestamp>,
}

impl Waits {
    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the wait of an object; `None`: it waits for nothing (any more). Returns the wait as it counts: if it follows another
    /// one while the condition of both keeps its time, it begins now.
    pub fn set(&self, object: &ObjectReference, wait: Option<Wait>) -> Option<Wait> {
        let key = object.uid.clone().unwrap_or_default();
        let (time, mut known) = (now(), self.known());
        let Some(set) = wait else {
            known.remove(&key);
            return None;
        };
        let counted = match known.get_mut(&key) {
            Some(before) if before.set.is_same_as(&set) => {
                let counted = set.clone().begun_at(before.wait.since);
                if before.wait != counted
                    && let Some(told) = before.told
                {
                    before.due = before.due.min(time.max(told + CHANGED));
                    self.changed.notify_one();
                }
                before.set = set;
                before.wait.clone_from(&counted);
                return Some(counted);
            }
            Some(before) if before.set.since == set.since => set.clone().begun_at(time.max(set.since)),
            _ => set.clone(),
        };
        let due = next_event(&counted, time);
        let one = Known {
            object: object.clone(),
            set,
            wait: counted.clone(),
            due,
            told: None,
        };
        known.insert(key, one);
        drop(known);
        self.changed.notify_one();
        Some(counted)
    }

    /// Like [`Waits::set`], for a wait with a condition of this type, which shows when it is overdue. Returns
    /// the time after which to check that.
    pub fn tell<C: ListedCondition>(
        &self,
        object: &ObjectReference,
        wait: Option<(Wait, &str)>,
        list: &mut [C],
    ) -> Option<Duration> {
        let (wait, type_) = wait.unzip();
        let wait = self.set(object, wait)?;
        let (by, time) = (wait.due()?, now());
        if by > time {
            return (by - time).to_std().ok();
        }
        conditions::say_overdue(list, type_?, &stamp(by), &wait.todo, time);
        None
    }

    /// Publishes Events until the future is dropped.
    pub async fn publish(&self, events: &Events) {
        loop {
            let time = now();
            let next = self.publish_due(events, time);
            let pause = next.map_or(LONGEST, |next| (next - time).to_std().unwrap_or_default());
            tokio::select! {
                () = sleep(pause) => {}
                () = self.changed.notified() => {}
            }
            sleep(LOOK).await;
        }
    }

    /// Publishes the Events that are due, as far as the queue has room. Returns the time of the next.
    fn publish_due(&self, events: &Events, time: Timestamp) -> Option<Timestamp> {
        let mut known = self.known();
        let due = known.values_mut().filter(|one| one.due <= time);
        for one in due.take(events.room()) {
            let type_ = if one.wait.needs_user || one.wait.is_overdue(time) {
                EventType::Warning
            } else {
                EventType::Normal
            };
            let event = events::event(type_, "Wait", one.wait.reason, &one.wait.text(time));
            events.publish(event, one.object.clone());
            one.told = Some(time);
            one.due = next_event(&one.wait, time);
        }
        known.values().map(|one| one.due).min()
    }
}

/// Time of the first Event after `time` about this wait, including the one when it becomes overdue.
fn next_event(wait: &Wait, time: Timestamp) -> Timestamp {
    let regular = due_after(wait.since, time);
    let overdue = wait.due().filter(|by| *by > time);
    overdue.map_or(regular, |by| by.min(regular))
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
            until: Some(Until::GivenUp(at(2400), "it counts as not booted")),
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
        let event = queued.try_recv().unwrap().event;
        let note = event.note.unwrap();
        assert!(note.contains("look 4") && note.contains("console"), "{note}");
        assert!(queued.try_recv().is_err(), "once");
        waits.set(&object("a"), Some(wait("Joining", since, "another")));
        waits.publish_due(&events, soon);
        assert_eq!(queued.try_recv().unwrap().event.reason, "Joining");
        waits.set(&object("a"), None);
        assert_eq!(waits.publish_due(&events, now + Duration::from_secs(9999)), None);
        assert!(queued.try_recv().is_err());
    }

    fn due(reason: &'static str, since: i64, by: i64) -> Wait {
        Wait {
            until: Some(Until::Due(at(by))),
            ..wait(reason, since, "No Agent fits")
        }
    }

    #[test]
    fn a_text_that_changes_is_published_again_but_not_all_the_time() {
        let (events, mut queued) = Events::new();
        let waits = Waits::default();
        let time = now();
        let since = (time - at(0)).num_seconds() - 7500;
        let set = |what: &str| waits.set(&object("a"), Some(wait("NoAgents", since, what)));
        set("two Agents");
        waits.publish_due(&events, time + LONGEST);
        assert!(
            queued
                .try_recv()
                .unwrap()
                .event
                .note
                .unwrap()
                .contains("two Agents")
        );
        set("three Agents");
        set("four Agents");
        let again = waits.publish_due(&events, time + LONGEST).unwrap();
        assert_eq!(again, time + LONGEST + CHANGED);
        assert!(queued.try_recv().is_err());
        waits.publish_due(&events, again);
        let item = queued.try_recv().unwrap();
        assert!(item.event.note.unwrap().contains("four Agents"));
        set("four Agents");
        assert!(waits.publish_due(&events, again).unwrap() > again + CHANGED);
    }

    #[test]
    fn a_wait_that_is_overdue_is_published_at_once_as_a_warning_and_its_condition_says_so() {
        let (events, mut queued) = Events::new();
        let waits = Waits::default();
        let seconds = (now() - at(0)).num_seconds();
        let by = at(seconds + 100);
        waits.set(&object("a"), Some(due("NoAgents", seconds - 9000, seconds + 100)));
        assert_eq!(waits.publish_due(&events, now()), Some(by));
        waits.publish_due(&events, by);
        let event = queued.try_recv().unwrap().event;
        assert_eq!(event.type_, EventType::Warning);
        let note = event.note.unwrap();
        assert!(
            note.contains("overdue since") && note.contains("console"),
            "{note}"
        );

        let mut list = vec![<StandardCondition as ListedCondition>::new(
            "Ready",
            "False",
            "NoAgents",
            "No Agent fits.".to_owned(),
            at(0),
        )];
        let soon = waits.tell(
            &object("b"),
            Some((due("NoAgents", 0, seconds + 50), "Ready")),
            &mut list,
        );
        assert!(soon.is_some_and(|soon| soon <= Duration::from_secs(50)));
        assert_eq!(list[0].message, "No Agent fits.");
        for _ in 0..2 {
            let wait = Wait::of_condition(&list[0], "NoAgents", Limit::minutes(10, "Look at its console."));
            assert_eq!(wait.what, "No Agent fits");
            assert_eq!(waits.tell(&object("b"), Some((wait, "Ready")), &mut list), None);
            assert_eq!(
                list[0].message,
                "No Agent fits. Overdue since 2026-11-18 11:16:40 UTC. Look at its console."
            );
        }
    }

    #[test]
    fn a_wait_that_follows_another_has_its_time_from_then_on() {
        let waits = Waits::default();
        let since = (now() - at(0)).num_seconds() - 3000;
        let first = waits
            .set(&object("a"), Some(due("NoData", since, since + 600)))
            .unwrap();
        assert_eq!(first.since, at(since));
        let second = waits
            .set(&object("a"), Some(due("NoAgents", since, since + 600)))
            .unwrap();
        assert!(second.since > at(since + 2999) && !second.is_overdue(now()));
        let same = waits.set(&object("a"), Some(due("NoAgents", since, since + 600)));
        assert_eq!(same, Some(second));
    }

    #[test]
    fn a_text_says_what_since_until_and_what_to_do() {
        let text = wait("Booting", 0, "The host reboots").text(at(0));
        assert_eq!(
            text,
            "The host reboots. Since 2026-11-18 11:06:40 UTC, until 2026-11-18 11:46:40 UTC: it counts as not booted. Look at its console."
        );
        let endless = Wait {
            until: None,
            todo: String::new(),
            ..wait("Booting", 0, "The host reboots")
        };
        assert_eq!(
            endless.text(at(0)),
            "The host reboots. Since 2026-11-18 11:06:40 UTC, without an end."
        );
        assert_eq!(
            due("NoAgents", 0, 60).text(at(59)),
            "No Agent fits. Since 2026-11-18 11:06:40 UTC, expected to end by 2026-11-18 11:07:40 UTC. Look at its console."
        );
    }
}
