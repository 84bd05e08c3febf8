//! Writes the spec of an object that mirrors a record.

use std::fmt::Debug;

use kube::api::Patch;
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Error;
use crate::references::kube_ref;
use crate::writes::patch_params;

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
