//! Tells what objects wait for, so that waits of more than a minute become Kubernetes Events.

use kube::Resource;
use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_resources::StandardCondition;

use crate::conditions::ConditionReason;
use crate::context::Context;
use crate::waits::Wait;

/// Says of `object` that it waits for the first of these conditions (type and the status that is awaited) that is not met.
pub fn tell<R: ConditionReason>(
    context: &Context,
    object: &impl Resource<DynamicType = ()>,
    conditions: &[StandardCondition],
    awaited: &[(&str, &str)],
) {
    context
        .waits
        .set(&object.object_ref(&()), wait::<R>(conditions, awaited));
}

/// Says that `object` waits for nothing any more.
pub fn forget(context: &Context, object: &impl Resource<DynamicType = ()>) {
    context.waits.set(&object.object_ref(&()), None);
}

fn wait<R: ConditionReason>(conditions: &[StandardCondition], awaited: &[(&str, &str)]) -> Option<Wait> {
    let open = awaited.iter().find_map(|(type_, status)| {
        conditions
            .iter()
            .find(|condition| condition.type_ == *type_ && condition.status != *status)
    })?;
    let reason: R = open.reason.parse().ok()?;
    let what = match open.message.trim_end_matches('.') {
        "" => format!("{} is {}", open.type_, open.status),
        message => message.to_owned(),
    };
    Some(Wait {
        reason: reason.into(),
        what,
        since: Timestamp::from_timestamp(open.last_transition_time.0.as_second(), 0)?,
        until: None,
        todo: String::new(),
        needs_user: reason.event_type(true) == Some(EventType::Warning),
    })
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
        let found = wait::<Reason>(&conditions, &[("Ready", "True"), ("UpdatingConfig", "False")]).unwrap();
        assert_eq!(
            (found.reason, found.what.as_str()),
            ("UserDataMissing", "create the Secret")
        );
        assert!(found.needs_user);
        assert_eq!(wait::<Reason>(&conditions, &[("Other", "True")]), None);
    }
}
