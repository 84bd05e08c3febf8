//! Finalizers, each set and taken away in one write. Who wrote in between is not overwritten.

use std::fmt::Debug;

use kube::api::{Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Error;

/// A merge patch of metadata that fails with a conflict when the object is no longer the one that was seen.
pub fn metadata_patch<K: Resource>(object: &K, mut metadata: Value) -> Patch<Value> {
    metadata["resourceVersion"] = json!(object.meta().resource_version);
    Patch::Merge(json!({ "metadata": metadata }))
}

/// The object's finalizers with `finalizer`; `None` when it is there.
pub fn with<K: Resource>(object: &K, finalizer: &str) -> Option<Vec<String>> {
    let mut list = object.meta().finalizers.clone().unwrap_or_default();
    if list.iter().any(|one| one == finalizer) {
        return None;
    }
    list.push(finalizer.to_owned());
    Some(list)
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
    Ok(Some(api.patch(&name, &PatchParams::default(), &patch).await?))
}

/// Takes `finalizer` away, if it is there. An object that is gone by now is fine.
///
/// # Errors
/// Those of the API; a conflict when the object changed.
pub async fn remove<K>(api: &Api<K>, object: &K, finalizer: &str) -> Result<(), Error>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let mut list = object.meta().finalizers.clone().unwrap_or_default();
    let before = list.len();
    list.retain(|one| one != finalizer);
    if list.len() == before {
        return Ok(());
    }
    let patch = metadata_patch(object, json!({ "finalizers": list }));
    let patched = api
        .patch_metadata(&object.name_any(), &PatchParams::default(), &patch)
        .await;
    match patched.map_err(Error::from) {
        Ok(_) => Ok(()),
        Err(error) if error.is_absent() => Ok(()),
        Err(error) => Err(error),
    }
}
