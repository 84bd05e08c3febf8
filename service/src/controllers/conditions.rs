//! Lists of conditions, one of a type.

use muster_resources::{Condition, HiveCondition, Time};

/// What a list of conditions needs to know of one; both shapes of the field have it.
pub trait Listed {
    /// What it tells about.
    fn type_(&self) -> &str;
    /// `True`, `False` or `Unknown`.
    fn status(&self) -> &str;
    /// When the status became what it is.
    fn transition(&mut self) -> &mut Option<Time>;
}

impl Listed for Condition {
    fn type_(&self) -> &str {
        &self.type_
    }

    fn status(&self) -> &str {
        &self.status
    }

    fn transition(&mut self) -> &mut Option<Time> {
        &mut self.last_transition_time
    }
}

impl Listed for HiveCondition {
    fn type_(&self) -> &str {
        &self.type_
    }

    fn status(&self) -> &str {
        &self.status
    }

    fn transition(&mut self) -> &mut Option<Time> {
        &mut self.last_transition_time
    }
}

/// Puts `condition` where the one of its type is, or at the end. The moment of its last transition stays unless its status is another.
pub fn set<C: Listed>(list: &mut Vec<C>, mut condition: C) {
    let Some(before) = list.iter_mut().find(|before| before.type_() == condition.type_()) else {
        list.push(condition);
        return;
    };
    if before.status() == condition.status()
        && let Some(since) = before.transition().take()
    {
        *condition.transition() = Some(since);
    }
    *before = condition;
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::jiff::Timestamp;

    fn condition(type_: &str, status: &str, reason: &str, at: i64) -> Condition {
        Condition {
            type_: type_.into(),
            status: status.into(),
            reason: Some(reason.into()),
            last_transition_time: Some(Time(Timestamp::from_second(at).unwrap())),
            ..Condition::default()
        }
    }

    #[test]
    fn a_transition_is_a_change_of_status_and_nothing_else() {
        let mut list = vec![condition("Bound", "False", "Unbound", 1)];
        set(&mut list, condition("Connected", "True", "AgentIsConnected", 2));
        set(&mut list, condition("Connected", "True", "Again", 3));
        assert_eq!(
            list,
            [
                condition("Bound", "False", "Unbound", 1),
                condition("Connected", "True", "Again", 2)
            ]
        );
        set(&mut list, condition("Connected", "False", "Silent", 4));
        assert_eq!(list[1], condition("Connected", "False", "Silent", 4));
        assert_eq!(list.len(), 2);
    }

    #[test]
    fn a_condition_without_a_moment_takes_the_new_one() {
        let mut list = vec![HiveCondition {
            type_: "Completed".into(),
            status: "Unknown".into(),
            ..HiveCondition::default()
        }];
        let since = Some(Time(Timestamp::from_second(5).unwrap()));
        let now = HiveCondition {
            last_transition_time: since.clone(),
            ..list[0].clone()
        };
        set(&mut list, now);
        assert_eq!(list[0].last_transition_time, since);
    }
}
