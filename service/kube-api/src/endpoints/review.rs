//! Answers reviews ("who am I", "may I"), which are not stored.

use serde_json::{Value, json};

use crate::object;
use crate::request::{Caller, MASTERS, RequestInfo, VIEWERS};
use crate::resources::Strategy;

/// The review with its `status`.
pub fn answered(request: &RequestInfo, mut question: Value) -> Value {
    let resource = &request.resource;
    object::set_member(&mut question, "apiVersion", Some(resource.api_version().into()));
    object::set_member(&mut question, "kind", Some(resource.kind.clone().into()));
    object::metadata_mut(&mut question);
    let caller = &request.caller;
    let status = match resource.strategy {
        Strategy::Identity => {
            json!({"userInfo": {"username": caller.name, "uid": caller.uid, "groups": caller.groups}})
        }
        Strategy::Rules if caller.is_master() => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
        // Rules have no "all but".
        Strategy::Rules => json!({
            "resourceRules": [{"verbs": READING, "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["*"]}],
            "incomplete": true,
            "evaluationError": "Secrets are left out",
        }),
        _ => access(caller, resource.kind == OF_ONESELF, &question["spec"]),
    };
    object::set_member(&mut question, "status", Some(status));
    question
}

/// The kind about the caller itself; the others name a user and groups.
const OF_ONESELF: &str = "SelfSubjectAccessReview";

const READING: [&str; 3] = ["get", "list", "watch"];

fn access(caller: &Caller, is_of_oneself: bool, spec: &Value) -> Value {
    let groups = spec["groups"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let groups = match is_of_oneself {
        true => caller.groups.clone(),
        false => groups.map(str::to_owned).collect(),
    };
    let is_in = |group: &str| groups.iter().any(|one| one == group);
    if is_in(MASTERS) {
        return json!({"allowed": true, "reason": "administrators may do everything"});
    }
    let attributes = &spec["resourceAttributes"];
    let of = |member: &str| attributes[member].as_str().unwrap_or_default();
    let is_secret = of("group").is_empty() && matches!(of("resource"), "secrets" | "*");
    let reads = match attributes.is_object() {
        true => READING.contains(&of("verb")) && !is_secret,
        false => spec["nonResourceAttributes"]["verb"] == "get",
    };
    json!({"allowed": is_in(VIEWERS) && reads})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viewers_may_read_and_strangers_nothing() {
        let may = |caller: &Caller, verb: &str, resource: &str| {
            let spec = json!({"resourceAttributes": {"verb": verb, "resource": resource}});
            access(caller, true, &spec)["allowed"] == true
        };
        let viewer = Caller::viewer();
        assert!(
            may(&viewer, "list", "agents")
                && !may(&viewer, "list", "secrets")
                && !may(&viewer, "delete", "agents")
        );
        assert!(may(&Caller::administrator(), "delete", "secrets"));
        let of_others = |groups: Value| {
            access(
                &Caller::administrator(),
                false,
                &json!({"groups": groups, "resourceAttributes": {"verb": "get", "resource": "agents"}}),
            )
        };
        assert_eq!(of_others(json!(["system:masters"]))["allowed"], true);
        assert_eq!(of_others(json!(["somebody"])), json!({"allowed": false}));
    }
}
