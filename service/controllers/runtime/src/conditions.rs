//! Conditions of all kinds: one type for a condition that an object should have, and one way to put it into
//! the object's status.

use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_resources::{Condition, HiveCondition, StandardCondition, Time};
use serde::Serialize;
use strum::IntoStaticStr;

/// `status` of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
pub enum ConditionStatus {
    True,
    False,
    Unknown,
}

/// Reasons of one kind's conditions. Their names on the wire are derived by strum.
pub trait ConditionReason: Copy + Into<&'static str> + std::str::FromStr {
    /// The type of the Kubernetes Event to publish when a condition takes this reason; `None`: no Event.
    /// `is_new`: the object had no condition of this type before.
    fn event_type(self, is_new: bool) -> Option<EventType>;

    /// True if the message names a mistake to correct, so that another message is published as another Event. False for messages that
    /// change without a user, such as those that contain measured values.
    fn is_correction(self) -> bool {
        false
    }
}

/// A condition that an object should have, without its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredCondition<T, R> {
    pub type_: T,
    pub status: ConditionStatus,
    /// The reason, for programs.
    pub reason: R,
    /// The message, for users: the cause, and what to do.
    pub message: String,
}

impl<T, R> DesiredCondition<T, R> {
    pub fn new(type_: T, status: ConditionStatus, reason: R, message: impl Into<String>) -> Self {
        Self {
            type_,
            status,
            reason,
            message: message.into(),
        }
    }
}

/// The state of the condition `SpecSynced` of several kinds: whether the database matches the spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Synced {
    /// The database matches the spec. With a notice for users, if there is one.
    Ok(Option<String>),
    /// The spec requests something impossible: the mistake, with advice.
    Input(String),
    /// The change could not be made now, and is tried again: the reason.
    Backend(String),
}

/// A condition in the type of an API.
pub trait ListedCondition: Sized {
    /// Returns a condition that holds since `now`.
    fn new(type_: &str, status: &str, reason: &str, message: String, now: Timestamp) -> Self;
    fn type_(&self) -> &str;
    fn status(&self) -> &str;
    fn reason(&self) -> &str;
    fn message(&self) -> &str;
    /// Takes over the time of the last transition.
    fn keep_transition_of(&mut self, before: &Self);
    /// Makes it about the same generation of the spec as `other`, where conditions have one.
    fn keep_generation_of(&mut self, _other: &Self) {}
}

macro_rules! listed_condition {
    ($condition:ty, $new:expr) => {
        impl ListedCondition for $condition {
            fn new(type_: &str, status: &str, reason: &str, message: String, now: Timestamp) -> Self {
                $new(type_, status, reason, message, now)
            }

            fn type_(&self) -> &str {
                &self.type_
            }

            fn status(&self) -> &str {
                &self.status
            }

            fn reason(&self) -> &str {
                self.reason.as_deref().unwrap_or_default()
            }

            fn message(&self) -> &str {
                self.message.as_deref().unwrap_or_default()
            }

            fn keep_transition_of(&mut self, before: &Self) {
                self.last_transition_time = before.last_transition_time.clone();
            }
        }
    };
}

listed_condition!(Condition, |type_: &str,
                              status: &str,
                              reason: &str,
                              message,
                              now| Condition {
    type_: type_.to_owned(),
    status: status.to_owned(),
    reason: Some(reason.to_owned()),
    message: Some(message),
    last_transition_time: Some(time(now)),
    last_heartbeat_time: None,
});

listed_condition!(HiveCondition, |type_: &str,
                                  status: &str,
                                  reason: &str,
                                  message: String,
                                  now| {
    HiveCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message).filter(|message| !message.is_empty()),
        last_probe_time: Some(time(now)),
        last_transition_time: Some(time(now)),
    }
});

impl ListedCondition for StandardCondition {
    fn new(type_: &str, status: &str, reason: &str, message: String, now: Timestamp) -> Self {
        Self {
            type_: type_.to_owned(),
            status: status.to_owned(),
            observed_generation: None,
            last_transition_time: time(now),
            reason: reason.to_owned(),
            message,
        }
    }

    fn type_(&self) -> &str {
        &self.type_
    }

    fn status(&self) -> &str {
        &self.status
    }

    fn reason(&self) -> &str {
        &self.reason
    }

    fn message(&self) -> &str {
        &self.message
    }

    fn keep_transition_of(&mut self, before: &Self) {
        self.last_transition_time = before.last_transition_time.clone();
        self.observed_generation = before.observed_generation;
    }

    fn keep_generation_of(&mut self, other: &Self) {
        self.observed_generation = other.observed_generation;
    }
}

/// A status with a list of conditions, whose reasons are `R`.
pub trait Status<R: ConditionReason>: Serialize + PartialEq {
    type Condition: ListedCondition;
    fn conditions(&self) -> &[Self::Condition];
}

/// Makes a status with a list `conditions` a [`Status`].
#[macro_export]
macro_rules! has_conditions {
    ($status:ty, $condition:ty, $reason:ty) => {
        impl $crate::conditions::Status<$reason> for $status {
            type Condition = $condition;

            fn conditions(&self) -> &[$condition] {
                &self.conditions
            }
        }
    };
}

/// Replaces the condition of this type by `desired`, or appends it. A condition with the same content keeps
/// its times; the time of the last transition changes with the status only.
pub fn set<C, T, R>(list: &mut Vec<C>, desired: DesiredCondition<T, R>, now: Timestamp)
where
    C: ListedCondition,
    T: Into<&'static str>,
    R: Into<&'static str>,
{
    let (type_, status, reason): (&str, &str, &str) =
        (desired.type_.into(), desired.status.into(), desired.reason.into());
    put(list, C::new(type_, status, reason, desired.message, now));
}

/// Like [`set`], for a condition with a reason of another service.
pub fn put<C: ListedCondition>(list: &mut Vec<C>, mut condition: C) {
    let Some(before) = list.iter_mut().find(|before| before.type_() == condition.type_()) else {
        list.push(condition);
        return;
    };
    if before.status() == condition.status() {
        if before.reason() == condition.reason() && before.message() == condition.message() {
            return;
        }
        condition.keep_transition_of(before);
    }
    *before = condition;
}

/// Start of the sentence in a message about an overdue wait. A time follows.
const OVERDUE: &str = "Overdue since";

/// Appends the time since when its wait is overdue, and advice, to the message of the condition of this type. Its times stay.
pub fn say_overdue<C: ListedCondition>(list: &mut [C], type_: &str, since: &str, todo: &str, now: Timestamp) {
    let Some(before) = list.iter_mut().find(|one| one.type_() == type_) else {
        return;
    };
    let message = match without_overdue(before.message()) {
        "" => format!("{OVERDUE} {since}. {todo}"),
        message => format!("{message}. {OVERDUE} {since}. {todo}"),
    };
    let message = message.trim_end().to_owned();
    let mut condition = C::new(type_, before.status(), before.reason(), message, now);
    condition.keep_transition_of(before);
    *before = condition;
}

/// The message without the sentence of [`say_overdue`], and without the full stop.
pub fn without_overdue(message: &str) -> &str {
    let own = message.find(OVERDUE).map_or(message, |at| &message[..at]);
    own.trim_end_matches(['.', ' '])
}

/// Removes the condition of this type.
pub fn remove<C: ListedCondition>(list: &mut Vec<C>, type_: impl Into<&'static str>) {
    let type_ = type_.into();
    list.retain(|condition| condition.type_() != type_);
}

/// A time in the format of Kubernetes: to the second.
pub fn time(at: Timestamp) -> Time {
    let at = k8s_openapi::jiff::Timestamp::from_second(at.timestamp());
    Time(at.expect("the service's time is within ten thousand years"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000 + seconds, 999_000_000).unwrap()
    }

    fn desired(type_: &'static str, status: ConditionStatus) -> DesiredCondition<&'static str, &'static str> {
        DesiredCondition::new(type_, status, "Reason", "")
    }

    #[test]
    fn the_time_of_the_last_transition_stays_unless_the_status_changes() {
        use ConditionStatus::{False, True, Unknown};
        let mut list: Vec<Condition> = Vec::new();
        set(&mut list, desired("A", True), at(0));
        set(&mut list, desired("B", True), at(0));
        set(&mut list, DesiredCondition::new("A", True, "Another", ""), at(5));
        set(&mut list, desired("B", False), at(5));
        set(&mut list, desired("C", Unknown), at(5));
        let times: Vec<_> = list
            .iter()
            .map(|one| (one.type_.as_str(), one.last_transition_time.clone().unwrap()))
            .collect();
        assert_eq!(
            times,
            [("A", time(at(0))), ("B", time(at(5))), ("C", time(at(5)))]
        );
        assert_eq!(list[0].reason.as_deref(), Some("Another"));
        remove(&mut list, "A");
        assert_eq!(list.len(), 2);
    }

    #[test]
    fn a_condition_that_says_the_same_keeps_its_probe_time() {
        let mut list: Vec<HiveCondition> = Vec::new();
        set(&mut list, desired("A", ConditionStatus::True), at(0));
        let before = list.clone();
        set(&mut list, desired("A", ConditionStatus::True), at(5));
        assert_eq!(list, before);
    }

    #[test]
    fn times_have_no_parts_of_seconds() {
        assert_eq!(
            serde_json::to_value(time(at(0))).unwrap(),
            serde_json::json!("2026-11-18T11:06:40Z")
        );
    }
}
