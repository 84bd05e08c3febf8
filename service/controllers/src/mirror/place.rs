//! Makes the objects of mirrors, and the namespace that they are in.

use std::fmt::Debug;

use k8s_openapi::api::core::v1::Namespace;
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use muster_resources::names::namespace;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::error::Error;
use crate::references::kube_ref;
use crate::writes::post_params;

/// Creates an object, unless it is there.
pub async fn create<K>(context: &Context, object: &K) -> Result<(), Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let namespace = object.namespace().unwrap_or_default();
    let api = Api::<K>::namespaced(context.client.clone(), &namespace);
    match api.create(&post_params(), object).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        made => {
            made?;
            tracing::info!(kind = %K::kind(&()), object = %kube_ref(object), "what REST made is shown as a custom resource");
            Ok(())
        }
    }
}

pub async fn ensure_namespace(context: &Context) -> Result<(), Error> {
    let api = Api::<Namespace>::all(context.client.clone());
    if api.get_opt(namespace::MIRROR).await?.is_some() {
        return Ok(());
    }
    let mut wanted = Namespace::default();
    wanted.metadata.name = Some(namespace::MIRROR.to_owned());
    match api.create(&post_params(), &wanted).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        made => Ok(made.map(drop)?),
    }
}
