//! Publishes Kubernetes Events for conditions that change, so that `kubectl describe` shows what happened.
//!
//! Events never hold up a reconcile: they wait in a bounded queue, and one task sends them. Those that do not
//! fit are counted and dropped. A repeated Event is counted by the API's own series ([`Recorder`]), which keeps the first note;
//! those of waits are repeated only with the same note.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::conditions::{ConditionReason, ListedCondition, Status};
use super::error::words;

/// Events that may wait.
const QUEUE_LENGTH: usize = 1024;

/// Longest note, bytes. Source: Kubernetes API reference, events.k8s.io/v1 Event (`note`).
const LONGEST_NOTE: usize = 1023;

/// `reportingController` of our Events.
const REPORTER: &str = "muster";

/// Time for which Events with one note are counted together: that of [`Recorder`].
const SERIES: Duration = Duration::from_secs(360);

/// The way to the task that publishes. Cloning gives the same.
#[derive(Clone)]
pub struct Events(Sender<Item>);

/// Events for [`publish`].
pub type Queued = Receiver<Item>;

/// An Event that waits to be published.
pub struct Item {
    pub event: Event,
    pub object: ObjectReference,
    /// True when one with another note is another Event.
    by_note: bool,
}

impl Events {
    pub fn new() -> (Self, Queued) {
        let (sender, queued) = mpsc::channel(QUEUE_LENGTH);
        (Self(sender), queued)
    }

    /// Publishes what changed between two statuses of `object`.
    pub fn publish_transitions<S: Status>(
        &self,
        object: &impl Resource<DynamicType = ()>,
        before: Option<&S>,
        next: &S,
    ) {
        let before = before.map(S::conditions).unwrap_or_default();
        for event in transitions::<S::Condition, S::Reason>(before, next.conditions()) {
            self.publish(event, object.object_ref(&()));
        }
    }

    pub fn publish(&self, event: Event, object: ObjectReference) {
        self.queue(event, object, false);
    }

    /// The same for an Event that is repeated, and whose note may change meanwhile.
    pub fn publish_by_note(&self, event: Event, object: ObjectReference) {
        self.queue(event, object, true);
    }

    fn queue(&self, event: Event, object: ObjectReference, by_note: bool) {
        let item = Item {
            event,
            object,
            by_note,
        };
        if self.0.try_send(item).is_err() {
            metrics::counter!("muster_kubernetes_events_dropped_total").increment(1);
        }
    }
}

/// An Event of type Warning.
pub fn warning(action: &str, reason: &str, note: &str) -> Event {
    event(EventType::Warning, action, reason, note)
}

/// An Event.
pub fn event(type_: EventType, action: &str, reason: &str, note: &str) -> Event {
    Event {
        type_,
        reason: reason.to_owned(),
        note: Some(shortened(note).to_owned()),
        action: action.to_owned(),
        secondary: None,
    }
}

fn shortened(note: &str) -> &str {
    &note[..note.floor_char_boundary(LONGEST_NOTE)]
}

/// One Event for each condition whose status or reason is another than before.
fn transitions<C: ListedCondition, R: ConditionReason>(before: &[C], after: &[C]) -> Vec<Event> {
    let of = |condition: &C| {
        let known = before.iter().find(|one| one.type_() == condition.type_());
        let is_same = |one: &C| one.status() == condition.status() && one.reason() == condition.reason();
        if known.is_some_and(is_same) {
            return None;
        }
        let reason: R = condition.reason().parse().ok()?;
        let type_ = reason.event_type(known.is_none())?;
        Some(event(
            type_,
            condition.type_(),
            condition.reason(),
            condition.message(),
        ))
    };
    after.iter().filter_map(of).collect()
}

/// Publishes what is queued, until nothing can be queued any more. What cannot be published is lost: Events
/// are a courtesy.
pub async fn publish(client: Client, mut queued: Queued) {
    let mut recorders = Recorders::new(client);
    while let Some(item) = queued.recv().await {
        let Item { event, object, .. } = &item;
        let recorder = recorders.of(&item, Instant::now());
        if let Err(error) = recorder.publish(event, object).await {
            metrics::counter!("muster_kubernetes_events_dropped_total").increment(1);
            tracing::debug!(
                error = words(&error),
                reason = event.reason,
                "an Event could not be published"
            );
        }
    }
}

/// One recorder for all Events but those that are told apart by their notes: one for each note, as a recorder does not look at it.
struct Recorders {
    client: Client,
    common: Recorder,
    by_note: HashMap<u64, (Recorder, Instant)>,
}

impl Recorders {
    fn new(client: Client) -> Self {
        Self {
            common: Recorder::new(client.clone(), Reporter::from(REPORTER)),
            client,
            by_note: HashMap::new(),
        }
    }

    fn of(&mut self, item: &Item, now: Instant) -> Recorder {
        if !item.by_note {
            return self.common.clone();
        }
        self.by_note
            .retain(|_, (_, used)| now.duration_since(*used) < SERIES);
        let mut key = DefaultHasher::new();
        (&item.object.uid, &item.event.reason, &item.event.note).hash(&mut key);
        let make = || Recorder::new(self.client.clone(), Reporter::from(REPORTER));
        let (recorder, used) = self.by_note.entry(key.finish()).or_insert_with(|| (make(), now));
        *used = now;
        recorder.clone()
    }
}

#[cfg(test)]
mod tests {
    use muster_resources::Condition;
    use strum::{EnumString, IntoStaticStr};

    use super::*;

    #[derive(Clone, Copy, EnumString, IntoStaticStr)]
    enum Reason {
        Good,
        Bad,
    }

    impl ConditionReason for Reason {
        fn event_type(self, is_new: bool) -> Option<EventType> {
            match self {
                Self::Good => (!is_new).then_some(EventType::Normal),
                Self::Bad => Some(EventType::Warning),
            }
        }
    }

    fn condition(type_: &str, reason: &str, message: &str) -> Condition {
        Condition {
            type_: type_.into(),
            status: "True".into(),
            reason: Some(reason.into()),
            message: Some(message.into()),
            ..Condition::default()
        }
    }

    #[test]
    fn a_condition_that_changes_is_an_event_and_one_that_says_the_same_is_none() {
        let before = [condition("A", "Good", "x"), condition("B", "Bad", "x")];
        let after = [
            condition("A", "Good", "another text"),
            condition("B", "Good", "healed"),
            condition("C", "Good", "as every new object"),
            condition("D", "Bad", "broken"),
            condition("E", "of another make", ""),
        ];
        let events = transitions::<_, Reason>(&before, &after);
        let published: Vec<_> = events
            .iter()
            .map(|event| (event.type_, event.action.as_str(), event.reason.as_str()))
            .collect();
        assert_eq!(
            published,
            [(EventType::Normal, "B", "Good"), (EventType::Warning, "D", "Bad")]
        );
    }

    #[test]
    fn a_note_that_is_too_long_is_cut_between_characters() {
        let note = "ü".repeat(1000);
        assert_eq!(shortened(&note).len(), 1022);
    }
}
