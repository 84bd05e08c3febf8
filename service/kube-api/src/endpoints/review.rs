//! Questions that are answered and not kept: who am I, may I?

use serde_json::{Value, json};

use crate::object;
use crate::request::RequestInfo;
use crate::strategy::Strategy;

/// The question with its answer in `status`. Whoever gets here may do everything: others are refused before.
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
        _ => json!({"allowed": true, "reason": "every caller of this server is an administrator"}),
    };
    object::set_member(&mut question, "status", Some(status));
    question
}
