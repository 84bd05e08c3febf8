//! Publishes the waits of objects, so that waits of more than a minute become Kubernetes Events, and conditions show when they are
//! overdue.

use std::time::Duration;

use kube::Resource;
use kube::runtime::events::EventType;
use muster_controller::conditions::ConditionReason;
use muster_controller::waits::{Limit, Wait};
use muster_resources::StandardCondition;

use crate::context::Context;

/// Reasons of conditions that show waits.
pub trait Limited: ConditionReason {
    /// The time that a wait for this reason should take at most.
    fn limit(self) -> Limit;
}

/// Sets the wait of `object`: for the first of these conditions (type and awaited status) that is not met.
/// Returns the time after which to check whether it is overdue. The deletion of an object without finalizers may be missed, so such an
/// object never waits.
pub fn tell<R: Limited>(
    context: &Context,
    object: &impl Resource<DynamicType = ()>,
    conditions: &mut [StandardCondition],
    awaited: &[(&str, &str)],
) -> Option<Duration> {
    let wait = wait::<R>(conditions, awaited);
    publish(context, object, conditions, wait)
}

/// Like [`tell`], for a wait that is known.
pub fn publish(
    context: &Context,
    object: &impl Resource<DynamicType = ()>,
    conditions: &mut [StandardCondition],
    wait: Option<(Wait, String)>,
) -> Option<Duration> {
    let has_finalizers = object
        .meta()
        .finalizers
        .as_ref()
        .is_some_and(|list| !list.is_empty());
    let wait = wait.filter(|_| has_finalizers && !is_paused(conditions));
    let wait = wait.as_ref().map(|(wait, type_)| (wait.clone(), type_.as_str()));
    context.waits.tell(&object.object_ref(&()), wait, conditions)
}

/// Ends the wait of `object`.
pub fn forget(context: &Context, object: &impl Resource<DynamicType = ()>) {
    context.waits.set(&object.object_ref(&()), None);
}

fn is_paused(conditions: &[StandardCondition]) -> bool {
    let says = |type_: &str, status: &str| {
        conditions
            .iter()
            .any(|condition| condition.type_ == type_ && condition.status == status)
    };
    says("Paused", "True") || says("ReconciliationActive", "False")
}

/// The wait for the first of these conditions that is not met, with its type.
pub fn wait<R: Limited>(
    conditions: &[StandardCondition],
    awaited: &[(&str, &str)],
) -> Option<(Wait, String)> {
    let open = awaited.iter().find_map(|(type_, status)| {
        conditions
            .iter()
            .find(|condition| condition.type_ == *type_ && condition.status != *status)
    })?;
    let reason: R = open.reason.parse().ok()?;
    let wait = Wait {
        needs_user: reason.event_type(true) == Some(EventType::Warning),
        ..Wait::of_condition(open, reason.into(), reason.limit())
    };
    Some((wait, open.type_.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodepool::pool::status::Reason;
    use serde_json::json;

    #[test]
    fn the_first_condition_that_is_not_met_is_what_is_waited_for() {
        let condition = |type_: &str, status: &str, reason: &str| -> StandardCondition {
            serde_json::from_value(
                json!({"type": type_, "status": status, "reason": reason, "message": "create the Secret",
                "lastTransitionTime": "2026-11-22T08:00:00Z"}),
            )
            .unwrap()
        };
        let conditions = [
            condition("UpdatingConfig", "True", "RollingOut"),
            condition("Ready", "False", "UserDataMissing"),
        ];
        let awaited = [("Ready", "True"), ("UpdatingConfig", "False")];
        let (found, type_) = wait::<Reason>(&conditions, &awaited).unwrap();
        assert_eq!(type_, "Ready");
        assert_eq!(
            (found.reason, found.what.as_str()),
            ("UserDataMissing", "create the Secret")
        );
        assert!(found.needs_user);
        assert_eq!(wait::<Reason>(&conditions, &[("Other", "True")]), None);
    }
}
