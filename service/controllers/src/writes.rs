//! Parameters of all writes, which name this service in `managedFields`, and the write of a spec.

use std::fmt::Debug;

use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Error;
use crate::references::kube_ref;

/// The writer of all changes, in `managedFields`.
pub const FIELD_MANAGER: &str = "muster";

pub fn patch_params() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// Of an apply: what this service said before and no longer says goes, what others wrote stays.
pub fn applied() -> PatchParams {
    PatchParams::apply(FIELD_MANAGER).force()
}

pub fn post_params() -> PostParams {
    PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    }
}

/// Deletes `object` and no other of its name that was made since it was read: a conflict then.
pub fn delete_params(object: &impl Resource) -> DeleteParams {
    DeleteParams::default().preconditions(Preconditions {
        uid: object.uid(),
        ..Preconditions::default()
    })
}

/// Writes what REST changed to the spec of an object, if it still is the version that was read.
///
/// # Errors
/// Those of the API; a conflict when it was changed meanwhile.
pub async fn patch_spec<K>(object: &K, patch: &Value, context: &Context) -> Result<K, Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let patch = json!({
        "metadata": {"resourceVersion": object.resource_version()},
        "spec": patch,
    });
    tracing::info!(kind = %K::kind(&()), object = %kube_ref(object), "what REST changed is written to its custom resource");
    let api = Api::<K>::namespaced(context.client.clone(), &object.namespace().unwrap_or_default());
    let written = api
        .patch(&object.name_any(), &patch_params(), &Patch::Merge(patch))
        .await;
    Ok(written?)
}
