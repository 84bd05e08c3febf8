//! Reads and applies objects, also of kinds that have no type here.

use std::fmt::Debug;

use kube::api::{ApiResource, DeleteParams, Patch};
use kube::core::{DynamicObject, GroupVersionKind, NamespaceResourceScope};
use kube::{Api, Client, Resource, ResourceExt};
use muster_controller::error::{Error, unless_absent};
use muster_controller::finalizers;
use muster_controller::references::with_owner;
use muster_controller::writes::{applied, patch_params};
use muster_core::record::KubeRef;
use muster_resources::cluster_api::ContractReference;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The version of the kinds that Clusters and Machines refer to.
const VERSION: &str = "v1beta1";

/// The kind of a reference.
pub fn kind_of(reference: &ContractReference) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        &reference.api_group,
        VERSION,
        &reference.kind,
    ))
}

/// Reads the object that a reference names; `None`: it does not exist, or its kind does not.
///
/// # Errors
/// Fails if the API server does.
pub async fn referred(
    client: &Client,
    namespace: &str,
    reference: &ContractReference,
) -> Result<Option<DynamicObject>, Error> {
    let api = api_of(client, namespace, reference);
    Ok(api.get_opt(&reference.name).await?)
}

/// Returns the API for objects of a reference's kind.
pub fn api_of(client: &Client, namespace: &str, reference: &ContractReference) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &kind_of(reference))
}

/// Deletes the object that a reference names. True if it (still) exists.
///
/// # Errors
/// Fails if the API server does.
pub async fn deleted(client: &Client, namespace: &str, reference: &ContractReference) -> Result<bool, Error> {
    let Some(found) = referred(client, namespace, reference).await? else {
        return Ok(false);
    };
    if found.metadata.deletion_timestamp.is_none() {
        let api = api_of(client, namespace, reference);
        unless_absent(api.delete(&reference.name, &DeleteParams::background()).await)?;
    }
    Ok(true)
}

/// Makes `owner` an owner of a referenced object, as its controller, and labels it with the cluster's name; writes nothing if both are set.
///
/// # Errors
/// Fails if the API server does; with a conflict if the object changed.
pub async fn adopt<O: Resource<DynamicType = ()>>(
    api: &Api<DynamicObject>,
    object: &DynamicObject,
    owner: &O,
    cluster: &str,
) -> Result<(), Error> {
    use muster_resources::cluster_api::names::CLUSTER_NAME;
    // An owner reference with another version of the same owner is equal.
    let owners = with_owner(object, owner, |_| false);
    let is_labelled = object.labels().get(CLUSTER_NAME).map(String::as_str) == Some(cluster);
    if (owners.is_none() && is_labelled) || object.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let mut metadata = json!({"labels": {CLUSTER_NAME: cluster}});
    if let Some(mut owners) = owners {
        let has_controller = owners.iter().any(|one| one.controller == Some(true));
        if let Some(added) = owners.last_mut().filter(|_| !has_controller) {
            added.controller = Some(true);
            added.block_owner_deletion = Some(true);
        }
        metadata["ownerReferences"] = json!(owners);
    }
    let patch = finalizers::metadata_patch(object, metadata);
    unless_absent(
        api.patch_metadata(&object.name_any(), &patch_params(), &patch)
            .await,
    )
    .map(drop)
}

/// Applies an object of kind `K` as its manager: fields that it set before and no longer sets are removed, fields of others stay.
///
/// # Errors
/// Fails if the API server does.
pub async fn apply<K>(client: &Client, place: &KubeRef, mut object: Value) -> Result<K, Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    object["apiVersion"] = K::api_version(&()).into();
    object["kind"] = K::kind(&()).into();
    object["metadata"]["name"] = place.name.clone().into();
    let api = Api::<K>::namespaced(client.clone(), &place.namespace);
    Ok(api.patch(&place.name, &applied(), &Patch::Apply(object)).await?)
}

/// Sets labels, annotations or owners of an object.
///
/// # Errors
/// Fails if the API server does; with a conflict if the object changed.
pub async fn set_metadata<K>(client: &Client, object: &K, metadata: Value) -> Result<(), Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let namespace = object.namespace().unwrap_or_default();
    let api = Api::<K>::namespaced(client.clone(), &namespace);
    let patch = finalizers::metadata_patch(object, metadata);
    unless_absent(
        api.patch_metadata(&object.name_any(), &patch_params(), &patch)
            .await,
    )
    .map(drop)
}

/// True while the object is paused: `true`, or a time in the future.
pub fn is_paused(until: Option<&str>, now: muster_api::time::Timestamp) -> bool {
    match until {
        None => false,
        Some(text) if text.eq_ignore_ascii_case("true") => true,
        Some(text) => chrono::DateTime::parse_from_rfc3339(text).is_ok_and(|until| until > now),
    }
}

/// Parses `NAMESPACE/NAME`, the form in annotations.
pub fn parse_name(text: &str) -> Option<KubeRef> {
    let (namespace, name) = text.split_once('/')?;
    Some(KubeRef::new(namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_api::time::Timestamp;

    #[test]
    fn a_pause_ends_at_its_time() {
        let now = Timestamp::from_timestamp(1_795_000_000, 0).unwrap();
        for (until, paused) in [
            (None, false),
            (Some("true"), true),
            (Some("True"), true),
            (Some("false"), false),
            (Some("2030-01-01T00:00:00Z"), true),
            (Some("2020-01-01T00:00:00Z"), false),
        ] {
            assert_eq!(is_paused(until, now), paused, "{until:?}");
        }
    }

    #[test]
    fn kinds_of_references_have_their_plural() {
        let reference = ContractReference {
            api_group: "capi-provider.agent-install.openshift.io".into(),
            kind: "AgentMachine".into(),
            name: "m".into(),
        };
        assert_eq!(kind_of(&reference).plural, "agentmachines");
    }
}
