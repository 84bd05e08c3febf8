//! Publishes Kubernetes Events for conditions that change, so that `kubectl describe` shows what happened.
//!
//! Events never delay a reconcile: they wait in a bounded queue, and one task sends them. Those that do not
//! fit are counted and dropped. An Event that is repeated with the same note is counted up; one with another note is
//! another Event. They are Events of the core group, with `firstTimestamp`, `lastTimestamp` and `count`, which
//! `kubectl get events --sort-by` and older tools read; kube's recorder sets none of these.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use futures_util::future::join_all;
use k8s_openapi::api::core::v1::{Event as CoreEvent, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{Api, Patch};
use kube::runtime::events::{Event, EventType};
use kube::{Client, Resource};
use serde_json::json;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::conditions::{ConditionReason, ListedCondition, Status};
use super::error::{Error, unless_absent};
use super::writes::{patch_params, post_params};

/// Events that may wait.
const QUEUE_LENGTH: usize = 1024;

/// Longest note, bytes. Source: Kubernetes API reference, core/v1 Event (`message`).
const LONGEST_NOTE: usize = 1023;

/// `reportingComponent` of Muster's Events.
const REPORTER: &str = "muster";

/// Time after its last repetition in which an Event is counted up, the same as in client-go's recorder.
const SERIES: Duration = Duration::from_secs(360);

/// Events that are published at the same time: Events of many hosts occur together, the built-in API commits them together, and a real one
/// has other clients.
const AT_ONCE: usize = 4;

/// Between two searches for Events that are not counted up any more.
const LOOK: Duration = Duration::from_secs(30);

/// Sends Events to the task that publishes them. A clone sends to the same task.
#[derive(Clone)]
pub struct Events(Sender<Item>);

/// The queue of Events, for [`publish`].
pub type Queued = Receiver<Item>;

/// An Event that waits to be published.
pub struct Item {
    pub event: Event,
    pub object: ObjectReference,
}

impl Events {
    pub fn new() -> (Self, Queued) {
        let (sender, queued) = mpsc::channel(QUEUE_LENGTH);
        (Self(sender), queued)
    }

    /// Publishes the differences between two statuses of `object`.
    pub fn publish_transitions<S: Status<R>, R: ConditionReason>(
        &self,
        object: &impl Resource<DynamicType = ()>,
        before: Option<&S>,
        next: &S,
    ) {
        let before = before.map(S::conditions).unwrap_or_default();
        for event in transitions::<S::Condition, R>(before, next.conditions()) {
            self.publish(event, object.object_ref(&()));
        }
    }

    /// Number of Events that the queue has room for.
    pub fn room(&self) -> usize {
        self.0.capacity()
    }

    pub fn publish(&self, event: Event, object: ObjectReference) {
        if self.0.try_send(Item { event, object }).is_err() {
            metrics::counter!("muster_kubernetes_events_dropped_total").increment(1);
        }
    }
}

/// Returns an Event of type Warning.
pub fn warning(action: &str, reason: &str, note: &str) -> Event {
    event(EventType::Warning, action, reason, note)
}

/// Returns an Event.
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

/// Returns one Event for each condition with another status or reason than before, or with another message if that names a mistake to
/// correct.
fn transitions<C: ListedCondition, R: ConditionReason>(before: &[C], after: &[C]) -> Vec<Event> {
    let of = |condition: &C| {
        let known = before.iter().find(|one| one.type_() == condition.type_());
        let reason: R = condition.reason().parse().ok()?;
        let is_same = |one: &C| {
            one.status() == condition.status()
                && one.reason() == condition.reason()
                && (one.message() == condition.message() || !reason.is_correction())
        };
        if known.is_some_and(is_same) {
            return None;
        }
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

/// Publishes what is queued, until nothing can be queued any more. Events that cannot be published are lost:
/// no function depends on them.
pub async fn publish(client: Client, mut queued: Queued) {
    let mut published = Published::default();
    let mut items = Vec::new();
    while queued.recv_many(&mut items, AT_ONCE).await > 0 {
        published
            .publish(&client, items.drain(..), Timestamp::now())
            .await;
    }
}

/// Events that were published within [`SERIES`] or shortly before, by their object and content.
#[derive(Default)]
struct Published {
    known: HashMap<u64, Repeated>,
    /// Time of the last search for old ones.
    looked: Timestamp,
}

struct Repeated {
    name: String,
    count: i32,
    last: Timestamp,
}

impl Published {
    /// Publishes the Events concurrently; repeated items among them are one Event.
    async fn publish(&mut self, client: &Client, items: impl Iterator<Item = Item>, now: Timestamp) {
        let age = |last| now.duration_since(last).unsigned_abs();
        // Ten thousand hosts have as many Events: not all of them are searched each time.
        if age(self.looked) > LOOK {
            self.known.retain(|_, known| age(known.last) < SERIES);
            self.looked = now;
        }
        let mut told: Vec<(u64, Item, i32)> = Vec::new();
        for item in items {
            let key = key_of(&item);
            match told.iter_mut().find(|(known, ..)| *known == key) {
                Some((.., times)) => *times += 1,
                None => told.push((key, item, 1)),
            }
        }
        // An Event's name is made of its time.
        let writes = told.iter().zip(0..).map(|((key, item, times), after)| {
            let before = self.known.get(key).filter(|known| age(known.last) < SERIES);
            let now = now + SignedDuration::from_nanos(after);
            write(client, item, *times, before, now)
        });
        let written = join_all(writes).await;
        for ((key, item, times), written) in told.iter().zip(written) {
            match written {
                Ok(is) => {
                    self.known.insert(*key, is);
                }
                Err(error) => {
                    metrics::counter!("muster_kubernetes_events_dropped_total")
                        .increment(u64::from(times.unsigned_abs()));
                    tracing::debug!(%error, reason = item.event.reason, "an Event could not be published");
                }
            }
        }
    }
}

/// Counts an Event up by this number, or creates it.
async fn write(
    client: &Client,
    item: &Item,
    times: i32,
    before: Option<&Repeated>,
    now: Timestamp,
) -> Result<Repeated, Error> {
    let namespace = item.object.namespace.as_deref().unwrap_or("default");
    let api = Api::<CoreEvent>::namespaced(client.clone(), namespace);
    if let Some(before) = before {
        let count = before.count + times;
        let more = json!({"count": count, "lastTimestamp": Time(now)});
        let patched = api
            .patch(&before.name, &patch_params(), &Patch::Merge(&more))
            .await;
        // A deleted Event is created again.
        if unless_absent(patched)?.is_some() {
            return Ok(Repeated {
                name: before.name.clone(),
                count,
                last: now,
            });
        }
    }
    let made = api
        .create(&post_params(), &core_event(item, namespace, times, now))
        .await?;
    Ok(Repeated {
        name: made.metadata.name.unwrap_or_default(),
        count: times,
        last: now,
    })
}

fn key_of(Item { event, object }: &Item) -> u64 {
    let type_ = event.type_ == EventType::Warning;
    let mut key = DefaultHasher::new();
    (&object.uid, &object.namespace, &object.name, type_).hash(&mut key);
    (&event.action, &event.reason, &event.note).hash(&mut key);
    key.finish()
}

fn core_event(Item { event, object }: &Item, namespace: &str, times: i32, now: Timestamp) -> CoreEvent {
    let type_ = match event.type_ {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    };
    let about = object.name.as_deref().unwrap_or(REPORTER);
    CoreEvent {
        metadata: ObjectMeta {
            name: Some(format!("{about}.{:x}", now.as_nanosecond())),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        involved_object: object.clone(),
        type_: Some(type_.to_owned()),
        reason: Some(event.reason.clone()),
        message: event.note.clone(),
        action: Some(event.action.clone()),
        count: Some(times),
        event_time: Some(MicroTime(now)),
        first_timestamp: Some(Time(now)),
        last_timestamp: Some(Time(now)),
        source: Some(EventSource {
            component: Some(REPORTER.to_owned()),
            host: None,
        }),
        reporting_component: Some(REPORTER.to_owned()),
        reporting_instance: Some(REPORTER.to_owned()),
        related: event.secondary.clone(),
        series: None,
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

        fn is_correction(self) -> bool {
            matches!(self, Self::Bad)
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
    fn another_mistake_is_another_event_and_the_same_one_is_none() {
        let before = [condition("A", "Bad", "one"), condition("B", "Bad", "one")];
        let after = [condition("A", "Bad", "one"), condition("B", "Bad", "another")];
        let events = transitions::<_, Reason>(&before, &after);
        let notes: Vec<_> = events.iter().map(|event| event.note.as_deref()).collect();
        assert_eq!(notes, [Some("another")]);
        let item = |note| Item {
            event: warning("B", "Bad", note),
            object: ObjectReference::default(),
        };
        assert_eq!(key_of(&item("one")), key_of(&item("one")));
        assert_ne!(key_of(&item("one")), key_of(&item("another")));
    }

    #[test]
    fn a_note_that_is_too_long_is_cut_between_characters() {
        let note = "ü".repeat(1000);
        assert_eq!(shortened(&note).len(), 1022);
    }
}
