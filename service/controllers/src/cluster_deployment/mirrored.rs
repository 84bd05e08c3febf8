//! Brings a cluster that REST imported and its resources together: changes by REST count as much as those by `kubectl`.
//!
//! The latest change of each field wins ([`mirror`]). The resources are written before the record stores the values on which both agree,
//! so an interrupted reconcile repeats itself and undoes nothing.

use std::fmt::Debug;

use kube::Resource;
use kube::core::NamespaceResourceScope;
use muster_controller::merge_patch::merge_patch;
use muster_controller::references::{kube_ref, mirror_of};
use muster_core::lifecycle::cluster::events;
use muster_core::record::{Agreed, Cluster, ClusterData, Fields};
use muster_core::rules::mirror;
use muster_operations::now;
use muster_resources::ClusterDeployment;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::desired::{Wanted, changed};
use super::shown::{deployment_spec, install_spec};
use crate::context::Context;
use crate::error::{Error, Refusal};
use crate::mirror::spec::patch_spec;

/// The member that is compared by its own members, one by one.
const TRAITS: &str = "traits";

/// True for a resource that was made to mirror a record and does not mirror it (any more).
///
/// # Errors
/// Fails if the database does.
pub async fn is_left_over(deployment: &ClusterDeployment, context: &Context) -> Result<bool, Error> {
    let own = kube_ref(deployment);
    let record = record(deployment, context).await?;
    Ok(record.is_some_and(|record| record.is_none_or(|record| record.kube != Some(own))))
}

/// True if the record still exists: mirrors were turned off. Its hosts stay in the cluster.
///
/// # Errors
/// Fails if the database does.
pub async fn is_forgotten(deployment: &ClusterDeployment, context: &Context) -> Result<bool, Error> {
    let own = kube_ref(deployment);
    let record = record(deployment, context).await?.flatten();
    Ok(record.is_some_and(|record| record.kube != Some(own)))
}

/// The existing record that a resource was made to mirror. `None`: the resource is no mirror.
async fn record(deployment: &ClusterDeployment, context: &Context) -> Result<Option<Option<Cluster>>, Error> {
    let Some(id) = mirror_of(deployment) else {
        return Ok(None);
    };
    let found = context.operations.clusters.find_stored(id).await?;
    let alive = found.filter(|found| found.deleted_at.is_none());
    Ok(Some(alive.map(|found| found.cluster)))
}

/// Stores the changes of the resources, and writes REST's changes to them. `wanted`: the present resources.
///
/// # Errors
/// Fails if the resources request something impossible, or for a cause that may pass.
pub async fn converge(stored: &Cluster, wanted: &Wanted<'_>, context: &Context) -> Result<Cluster, Refusal> {
    let of_resources = said(stored, wanted)?;
    let of_record = fields(&stored.data);
    let agreed = stored.mirror.clone().unwrap_or_default();
    let merged = mirror::merge(&agreed, &of_record, &of_resources);
    let (Some(present), Some(target)) = (data(of_resources), data(merged.clone())) else {
        return Err(Refusal::Later(Error::internal(
            "a merged cluster cannot be read".into(),
        )));
    };
    let (before, after) = (deployment_spec(&present), deployment_spec(&target));
    let deployment = write(wanted.deployment, &before, &after, context)
        .await
        .map_err(Refusal::Later)?;
    let (before, after) = (install_spec(&present), install_spec(&target));
    let install = write(wanted.install, &before, &after, context)
        .await
        .map_err(Refusal::Later)?;
    let next = Wanted {
        deployment: deployment.as_ref().unwrap_or(wanted.deployment),
        install: install.as_ref().unwrap_or(wanted.install),
        ..*wanted
    };
    let agreed = Agreed::of(&said(stored, &next)?);
    let stored = context.operations.clusters.change(stored.id, |newest| {
        // A client of REST may have been faster, so only what the resources changed is taken over.
        let fields = mirror::merge(&Agreed::of(&of_record), &fields(&newest.data), &merged);
        let mut next = Cluster {
            data: data(fields).unwrap_or_else(|| newest.data.clone()),
            mirror: newest.mirror.as_ref().map(|_| agreed.clone()),
            ..newest.clone()
        };
        if next == *newest {
            return Ok(None);
        }
        let mut told = Vec::new();
        if next.data != newest.data {
            next.updated_at = now();
        }
        if next.data.proxy != newest.data.proxy {
            told.push(events::proxy_settings_changed(&next, now()));
        }
        Ok(Some((next, told)))
    });
    Ok(stored.await?)
}

/// The settings in the resources, by their names in the record.
fn said(stored: &Cluster, wanted: &Wanted<'_>) -> Result<Fields, Refusal> {
    let invalid = |invalid| Refusal::invalid(&invalid, super::desired::resource_field);
    let next = changed(stored, wanted, stored.updated_at).map_err(invalid)?;
    Ok(fields(next.as_ref().map_or(&stored.data, |(next, _)| &next.data)))
}

fn fields(data: &ClusterData) -> Fields {
    let mut fields = json!(data).as_object().cloned().unwrap_or_default();
    if let Some(Value::Object(traits)) = fields.remove(TRAITS) {
        let apart = traits.into_iter();
        fields.extend(apart.map(|(name, value)| (format!("{TRAITS}.{name}"), value)));
    }
    fields
}

fn data(fields: Fields) -> Option<ClusterData> {
    let mut whole = Fields::new();
    let mut traits = Fields::new();
    for (name, value) in fields {
        match name.strip_prefix(TRAITS).and_then(|rest| rest.strip_prefix('.')) {
            Some(name) => traits.insert(name.to_owned(), value),
            None => whole.insert(name, value),
        };
    }
    whole.insert(TRAITS.to_owned(), Value::Object(traits));
    serde_json::from_value(Value::Object(whole)).ok()
}

/// Writes to `object` the fields in which the spec `after` differs from `before`. `None`: nothing is to be written.
async fn write<K, S>(object: &K, before: &S, after: &S, context: &Context) -> Result<Option<K>, Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
    S: Serialize,
{
    let (before, after) = (json!(before), json!(after));
    let present = json!(object)["spec"].take();
    let mut wanted = present.clone();
    let names = [&before, &after].into_iter().filter_map(Value::as_object);
    for name in names.flat_map(Fields::keys) {
        if before.get(name) != after.get(name) {
            wanted[name] = after.get(name).cloned().unwrap_or_default();
        }
    }
    if let Some(members) = wanted.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    let Some(patch) = merge_patch(&present, &wanted) else {
        return Ok(None);
    };
    patch_spec(object, &patch, context).await.map(Some)
}

#[cfg(test)]
mod tests {
    use muster_core::record::ClusterTraits;

    use super::*;

    #[test]
    fn a_record_is_taken_apart_and_put_together_without_loss() {
        let record = ClusterData {
            name: "prod".into(),
            traits: ClusterTraits {
                control_plane_count: 3,
                user_managed_networking: Some(true),
                ..ClusterTraits::default()
            },
            ..ClusterData::default()
        };
        let fields = fields(&record);
        assert_eq!(fields["traits.control_plane_count"], 3);
        assert_eq!(data(fields), Some(record));
    }
}
