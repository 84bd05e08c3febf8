//! Writes the spec of an object that mirrors a record.

use std::fmt::Debug;

use kube::api::Patch;
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use muster_controller::references::kube_ref;
use muster_controller::writes::patch_params;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Error;

/// Writes REST's changes to the spec of an object, unless the object changed since it was read.
///
/// # Errors
/// Fails if the API server does; with a conflict if the object changed meanwhile.
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
