//! Finalizers of all kinds, each set and removed in one write that fails with a conflict when the object was
//! changed in between.
//!
//! kube's `runtime::finalizer` removes a finalizer as soon as its clean-up returns, and adds it in a write of
//! its own. The clean-ups here wait until other objects are gone, and an Agent is created with its finalizer.

use std::fmt::Debug;

use kube::api::Patch;
use kube::{Api, Resource, ResourceExt};
use muster_resources::names::annotation;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::{Error, unless_absent};
use super::writes::patch_params;

/// A merge patch of metadata that fails with a conflict when the object was changed since it was read.
pub fn metadata_patch<K: Resource>(object: &K, mut metadata: Value) -> Patch<Value> {
    metadata["resourceVersion"] = json!(object.meta().resource_version);
    Patch::Merge(json!({ "metadata": metadata }))
}

/// True for an object that `clusterctl move` has copied to another management cluster and deletes in this one. Its finalizers are taken off
/// by clusterctl and must not be set again, and what it stands for stays as it is. Source: docs/protocol/capi-day1.md, section 1, "move".
pub fn is_moved<K: Resource>(object: &K) -> bool {
    object.annotations().contains_key(annotation::DELETE_FOR_MOVE)
}

/// True if the object has `finalizer`.
pub fn has<K: Resource>(object: &K, finalizer: &str) -> bool {
    object.finalizers().iter().any(|one| one == finalizer)
}

/// The object's finalizers with `finalizer`; `None` when `finalizer` is set already.
pub fn with<K: Resource>(object: &K, finalizer: &str) -> Option<Vec<String>> {
    if has(object, finalizer) {
        return None;
    }
    let mut list = object.finalizers().to_vec();
    list.push(finalizer.to_owned());
    Some(list)
}

/// The object's finalizers without `finalizer`.
pub fn without<K: Resource>(object: &K, finalizer: &str) -> Vec<String> {
    let others = object.finalizers().iter().filter(|one| *one != finalizer);
    others.cloned().collect()
}

/// Sets `finalizer` and returns the patched object; `None`: it was set already.
///
/// # Errors
/// Fails if the API server does; with a conflict if the object changed.
pub async fn set<K>(api: &Api<K>, object: &K, finalizer: &str) -> Result<Option<K>, Error>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let Some(list) = with(object, finalizer) else {
        return Ok(None);
    };
    let patch = metadata_patch(object, json!({ "finalizers": list }));
    let name = object.name_any();
    Ok(Some(api.patch(&name, &patch_params(), &patch).await?))
}

/// Removes `finalizer`, if it is set. The object may be gone by now.
///
/// # Errors
/// Fails if the API server does; with a conflict if the object changed.
pub async fn remove<K>(api: &Api<K>, object: &K, finalizer: &str) -> Result<(), Error>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    if !has(object, finalizer) {
        return Ok(());
    }
    let list = without(object, finalizer);
    let patch = metadata_patch(object, json!({ "finalizers": list }));
    let patched = api
        .patch_metadata(&object.name_any(), &patch_params(), &patch)
        .await;
    unless_absent(patched).map(drop)
}
