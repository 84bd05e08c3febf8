//! Writes the statuses of all kinds: as a JSON patch of the members that differ, and nothing when none does.
//!
//! A member that differs is sent as a whole, so that the patch does not depend on what it contained before. A
//! condition that changed becomes a Kubernetes Event as well.

use std::fmt::Debug;

use kube::api::Patch;
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::conditions::{ConditionReason, Status};
use super::context::Context;
use super::error::Error;
use super::writes::patch_params;

/// Changes the status of `object` from `before` to `next`. The API server refuses with a conflict if the
/// object has changed since it was read.
///
/// # Errors
/// Fails if the API server does.
pub async fn write<K, S, R>(context: &Context, object: &K, before: Option<&S>, next: &S) -> Result<(), Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    S: Status<R>,
    R: ConditionReason,
{
    if before == Some(next) {
        return Ok(());
    }
    let status = members(next);
    context.statuses.note(object, &status);
    let mut operations = difference(before.map(members).as_ref(), status);
    let version = object.resource_version();
    operations.insert(
        0,
        json!({"op": "add", "path": "/metadata/resourceVersion", "value": version}),
    );
    let namespace = object.namespace().unwrap_or_default();
    let api = Api::<K>::namespaced(context.client.clone(), &namespace);
    send(&api, &object.name_any(), operations).await?;
    context.events.publish_transitions::<S, R>(object, before, next);
    Ok(())
}

/// Sends JSON-patch operations to the status of an object.
///
/// # Errors
/// Fails if the API server does.
pub async fn send<K>(api: &Api<K>, name: &str, operations: Vec<Value>) -> kube::Result<K>
where
    K: Clone + Debug + DeserializeOwned,
{
    let patch = serde_json::from_value(Value::Array(operations)).expect("operations are made by this module");
    api.patch_status(name, &patch_params(), &Patch::Json::<()>(patch))
        .await
}

/// The members of a status, by name.
///
/// # Panics
/// Panics if the status is not an object with text keys and finite numbers; statuses of custom resources are.
pub fn members<S: Serialize>(status: &S) -> Map<String, Value> {
    match serde_json::to_value(status) {
        Ok(Value::Object(members)) => members,
        other => panic!("a status is a JSON object, not {other:?}"),
    }
}

/// Operations that turn a status with the members `before` into one with the members `next`. `None`: the object
/// has no status.
pub fn difference(before: Option<&Map<String, Value>>, next: Map<String, Value>) -> Vec<Value> {
    let Some(before) = before else {
        return vec![json!({"op": "add", "path": "/status", "value": next})];
    };
    let gone = before
        .keys()
        .filter(|name| !next.contains_key(*name))
        .map(|name| remove(name));
    let gone: Vec<Value> = gone.collect();
    next.into_iter()
        .filter(|(name, value)| before.get(name) != Some(value))
        .map(|(name, value)| add(&name, &value))
        .chain(gone)
        .collect()
}

/// The operation that sets a member of the status as a whole. Names of members are identifiers, which need no
/// escapes.
pub fn add(member: &str, value: &impl Serialize) -> Value {
    json!({"op": "add", "path": format!("/status/{member}"), "value": value})
}

/// The operation that removes a member of the status.
pub fn remove(member: &str) -> Value {
    json!({"op": "remove", "path": format!("/status/{member}")})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        members(&value)
    }

    #[test]
    fn only_members_that_changed_are_sent_and_each_as_a_whole() {
        let before = map(json!({"a": 1, "b": {"c": 1, "d": 2}, "gone": 1}));
        let next = map(json!({"a": 1, "b": {"c": 2}, "more": []}));
        assert_eq!(
            difference(Some(&before), next.clone()),
            [
                json!({"op": "add", "path": "/status/b", "value": {"c": 2}}),
                json!({"op": "add", "path": "/status/more", "value": []}),
                json!({"op": "remove", "path": "/status/gone"}),
            ]
        );
        assert!(difference(Some(&next), next.clone()).is_empty());
    }

    #[test]
    fn an_object_without_a_status_gets_it_as_a_whole() {
        let next = map(json!({"a": 1}));
        assert_eq!(
            difference(None, next),
            [json!({"op": "add", "path": "/status", "value": {"a": 1}})]
        );
    }
}
