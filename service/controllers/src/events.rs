//! Publishes Kubernetes Events for conditions that change, so that `kubectl describe` shows what happened.
//!
//! Events never hold up a reconcile: they wait in a bounded queue, and one task sends them. Those that do not
//! fit are counted and dropped. A repeated Event is counted by the API's own series ([`Recorder`]).

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

/// The way to the task that publishes. Cloning gives the same.
#[derive(Clone)]
pub struct Events(Sender<(Event, ObjectReference)>);

/// Events for [`publish`].
pub type Queued = Receiver<(Event, ObjectReference)>;

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
        if self.0.try_send((event, object)).is_err() {
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
    let recorder = Recorder::new(client, Reporter::from(REPORTER));
    while let Some((event, object)) = queued.recv().await {
        if let Err(error) = recorder.publish(&event, &object).await {
            metrics::counter!("muster_kubernetes_events_dropped_total").increment(1);
            tracing::debug!(
                error = words(&error),
                reason = event.reason,
                "an Event could not be published"
            );
        }
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
