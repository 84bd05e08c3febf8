//! Answers reviews ("who am I", "may I"), which are not stored.

use serde_json::{Value, json};

use crate::object;
use crate::request::RequestInfo;
use crate::strategy::Strategy;

/// The review with its `status`. Authentication lets only administrators pass, so everything is allowed.
pub fn answered(request: &RequestInfo, mut question: Value) -> Value {
    let resource = &request.resource;
    object::set_member(&mut question, "apiVersion", Some(resource.api_version().into()));
    object::set_member(&mut question, "kind", Some(resource.kind.clone().into()));
    object::metadata_mut(&mut question);
    let status = match resource.strategy {
        Strategy::Identity => {
            let caller = &request.caller;
            json!({"userInfo": {"username": caller.name, "uid": caller.uid, "groups": caller.groups}})
        }
        Strategy::Rules => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
        _ => json!({"allowed": true, "reason": "every caller of this server is an administrator"}),
    };
    object::set_member(&mut question, "status", Some(status));
    question
}
