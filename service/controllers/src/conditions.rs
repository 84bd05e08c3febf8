//! Lists of conditions, one of a type.

use muster_api::time::Timestamp;
use muster_resources::{Condition, HiveCondition, Time};

/// What a list of conditions needs to know of one.
pub trait Listed {
    /// Whether both are of the same type.
    fn is_type_of(&self, other: &Self) -> bool;
    /// Whether both have the same status.
    fn has_status_of(&self, other: &Self) -> bool;
    /// Takes the moment of the last transition from the one before.
    fn keep_transition_of(&mut self, before: &Self);
}

/// Puts `condition` where the one of its type is, or at the end. The moment of its last transition stays unless its status is another.
pub fn set<C: Listed>(list: &mut Vec<C>, mut condition: C) {
    let Some(before) = list.iter_mut().find(|before| before.is_type_of(&condition)) else {
        list.push(condition);
        return;
    };
    if before.has_status_of(&condition) {
        condition.keep_transition_of(before);
    }
    *before = condition;
}

macro_rules! listed {
    ($condition:ty) => {
        impl Listed for $condition {
            fn is_type_of(&self, other: &Self) -> bool {
                self.type_ == other.type_
            }

            fn has_status_of(&self, other: &Self) -> bool {
                self.status == other.status
            }

            fn keep_transition_of(&mut self, before: &Self) {
                self.last_transition_time = before.last_transition_time.clone();
            }
        }
    };
}

listed!(Condition);
listed!(HiveCondition);

/// A condition that is so from `now` on.
pub fn condition(type_: &str, status: &str, reason: &str, message: String, now: Timestamp) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        last_transition_time: Some(time(now)),
        last_heartbeat_time: None,
    }
}

/// A moment as Kubernetes writes it: to the second.
pub fn time(at: Timestamp) -> Time {
    let at = k8s_openapi::jiff::Timestamp::from_second(at.timestamp());
    Time(at.expect("the service's time is within ten thousand years"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        time(Timestamp::from_timestamp(1_795_000_000 + seconds, 999_000_000).unwrap())
    }

    fn seen(type_: &str, status: &str, seconds: i64) -> Condition {
        Condition {
            type_: type_.into(),
            status: status.into(),
            last_transition_time: Some(at(seconds)),
            ..Condition::default()
        }
    }

    #[test]
    fn the_moment_of_the_last_transition_stays_unless_the_status_changes() {
        let mut list = vec![seen("A", "True", 0), seen("B", "True", 0)];
        set(&mut list, seen("A", "True", 5));
        set(&mut list, seen("B", "False", 5));
        set(&mut list, seen("C", "Unknown", 5));
        let times: Vec<_> = list
            .iter()
            .map(|one| (one.type_.as_str(), one.last_transition_time.clone().unwrap()))
            .collect();
        assert_eq!(times, [("A", at(0)), ("B", at(5)), ("C", at(5))]);
    }

    #[test]
    fn times_have_no_parts_of_seconds() {
        assert_eq!(
            serde_json::to_value(at(0)).unwrap(),
            serde_json::json!("2026-11-18T11:06:40Z")
        );
    }
}
