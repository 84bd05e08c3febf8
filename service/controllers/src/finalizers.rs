//! Finalizers of all kinds, each set and removed in one write that fails with a conflict when another wrote
//! in between.
//!
//! kube's `runtime::finalizer` removes a finalizer as soon as its clean-up returns, and adds it in a write of
//! its own. Ours wait in a clean-up for other objects to go, and an Agent is created with its finalizer.

use std::fmt::Debug;

use kube::api::Patch;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::{Error, unless_absent};
use super::writes::patch_params;

/// A merge patch of metadata that fails with a conflict when the object is no longer the one that was seen.
pub fn metadata_patch<K: Resource>(object: &K, mut metadata: Value) -> Patch<Value> {
    metadata["resourceVersion"] = json!(object.meta().resource_version);
    Patch::Merge(json!({ "metadata": metadata }))
}

/// True when `finalizer` is among those of the object.
pub fn has<K: Resource>(object: &K, finalizer: &str) -> bool {
    object.finalizers().iter().any(|one| one == finalizer)
}

/// The object's finalizers with `finalizer`; `None` when it is there.
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

/// Sets `finalizer` and answers the object as it is then; `None`: it was set.
///
/// # Errors
/// Those of the API; a conflict when the object changed.
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

/// Takes `finalizer` away, if it is there. An object that is gone by now is fine.
///
/// # Errors
/// Those of the API; a conflict when the object changed.
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
