//! Creates, finds and deletes the objects of mirrors, and creates their namespace.

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::str::FromStr;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::{Api, Resource, ResourceExt};
use muster_controller::references::{kube_ref, mirror_of};
use muster_controller::writes::{delete_params, post_params};
use muster_resources::names::{label, namespace};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::error::{Error, unless_absent};

/// Returns the API for the mirrors of a kind: their metadata, by which they are found.
pub fn mirrors<K>(context: &Context) -> Api<PartialObjectMeta<K>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    Api::namespaced(context.client.clone(), namespace::MIRROR)
}

/// Returns the ids of `records`, and of the records of present mirrors, which may be gone.
pub async fn with_mirrored<K, I>(records: impl Iterator<Item = I>, context: &Context) -> Result<Vec<I>, Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug,
    I: Ord + FromStr,
{
    let mut known: BTreeSet<I> = records.collect();
    let found = mirrors::<K>(context)
        .list(&ListParams::default().labels(label::MIRROR_OF))
        .await?;
    known.extend(found.iter().filter_map(mirror_of));
    Ok(known.into_iter().collect())
}

/// Deletes the mirrors of a record.
pub async fn delete<K>(id: impl Display, context: &Context) -> Result<(), Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug,
{
    let label = format!("{}={id}", label::MIRROR_OF);
    let api = mirrors::<K>(context);
    for left in api.list(&ListParams::default().labels(&label)).await? {
        unless_absent(api.delete(&left.name_any(), &delete_params(&left)).await)?;
    }
    Ok(())
}

/// Creates an object, unless it exists.
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
