//! Brings a mirrored InfraEnv and its resource together: changes by REST count as much as those by `kubectl`.
//!
//! The latest change of each field wins ([`mirror`]). The resource is written before the record stores the values on which both agree,
//! so an interrupted reconcile repeats itself and undoes nothing.

use kube::ResourceExt;
use muster_api::infra_env::HostStaticNetworkConfig;
use muster_controller::merge_patch::merge_patch;
use muster_controller::references::{kube_ref, mirror_of};
use muster_controller::secrets::{self, ReferenceError};
use muster_core::lifecycle::infra_env;
use muster_core::record::{self, Agreed, Cluster, Fields, Secret, Settings};
use muster_core::rules::input::Invalid;
use muster_core::rules::mirror;
use muster_operations::now;
use muster_resources::names::key;
use muster_resources::{InfraEnv, InfraEnvSpec};
use serde_json::{Value, json};

use super::desired::{World, check_unchangeable, desired, spec_field};
use super::reconcile::{self, Converged, not_stored, refused};
use super::shown::{network_objects, selector, shown};
use super::static_network::sorted_out;
use super::writing::{write_networks, write_secret};
use crate::context::Context;
use crate::error::{Error, Refusal};
use crate::mirror::spec::patch_spec;

const PULL_SECRET: &str = "pull_secret";
const NETWORKS: &str = "static_network_config";

/// The values of a resource, with those of the objects that it refers to.
#[derive(Clone)]
struct Said {
    spec: InfraEnvSpec,
    /// The pull secret; `None`: the Secret is missing, and is created again.
    pull_secret: Option<Secret>,
    networks: Vec<HostStaticNetworkConfig>,
}

impl Said {
    /// Returns the fields by the names that the record has for them.
    fn fields(
        &self,
        stored: &record::InfraEnv,
        cluster: Option<&Cluster>,
        newest_version: Option<&str>,
    ) -> Result<Fields, Invalid> {
        let world = World {
            pull_secret: self.pull_secret.as_ref().unwrap_or(&stored.settings.pull_secret),
            cluster,
            networks: &self.networks,
            // A setting of REST alone: the spec has no field for it.
            require_host_keys: stored.settings.require_host_keys,
            newest_version,
        };
        let mut wanted = desired(&stored.name, &self.spec, &world)?;
        if cluster.is_none() {
            // The resource has no cluster, or one that is gone.
            wanted.cluster_id = stored.cluster_id;
        }
        check_unchangeable(stored, &wanted, false)?;
        let made = infra_env::create(wanted, stored.id, stored.boot_id.clone(), stored.created_at)?;
        let mut fields = fields(&made.settings);
        if self.pull_secret.is_none() {
            fields.remove(PULL_SECRET);
        }
        Ok(fields)
    }
}

/// True for a resource that was made to mirror a record which is gone or was given to another resource.
///
/// # Errors
/// Fails if the database does.
pub async fn is_left_over(infra_env: &InfraEnv, context: &Context) -> Result<bool, Error> {
    let Some(id) = mirror_of(infra_env) else {
        return Ok(false);
    };
    let own = kube_ref(infra_env);
    let record = context.operations.infra_envs.refresh(id).await?;
    Ok(record.is_none_or(|record| record.kube.as_ref() != Some(&own)))
}

/// True for a mirror of a record in a deleted cluster: REST keeps such InfraEnvs.
///
/// # Errors
/// Fails if the database does.
pub async fn lost_its_cluster(infra_env: &InfraEnv, context: &Context) -> Result<bool, Error> {
    let operations = &context.operations;
    let found = operations.infra_envs.find_by_kube(&kube_ref(infra_env)).await?;
    let Some(id) = found
        .filter(|found| found.mirror.is_some())
        .and_then(|found| found.cluster_id)
    else {
        return Ok(false);
    };
    Ok(operations.clusters.is_deleted(id).await? != Some(false))
}

/// Stores the changes of the resource, and writes REST's changes to the resource.
///
/// # Errors
/// Fails if the resource requests something impossible, or for a cause that may pass.
pub(super) async fn converge(
    seen: &InfraEnv,
    stored: &record::InfraEnv,
    cluster: Option<&Cluster>,
    context: &Context,
) -> Result<Converged, Refusal> {
    let operations = &context.operations;
    // Both are read again: an older version would look like a change.
    let resource = reconcile::api(context, seen).get_opt(&seen.name_any()).await?;
    let newest = operations.infra_envs.refresh(stored.id).await?;
    let (Some(resource), Some(stored)) = (resource, newest) else {
        return Err(gone());
    };
    let networks = reconcile::networks(&resource, context).await?;
    let said = Said {
        spec: resource.spec.clone(),
        pull_secret: pull_secret(&resource, context).await?,
        networks: networks.accepted.clone(),
    };
    let of_resource = said
        .fields(&stored, cluster, operations.newest_version())
        .map_err(refused)?;
    let of_record = fields(&stored.settings);
    let agreed = stored.mirror.clone().unwrap_or_default();
    let mut merged = mirror::merge(&agreed, &of_record, &of_resource);
    if said.pull_secret.is_none() {
        merged.insert(PULL_SECRET.to_owned(), json!(stored.settings.pull_secret));
    }
    let Some(target) = settings(merged.clone()) else {
        return Err(Refusal::Later(Error::internal(
            "a merged InfraEnv cannot be read".into(),
        )));
    };
    let differs = |field: &str| of_resource.get(field) != merged.get(field);
    let next = write(&resource, said, &target, &differs, context)
        .await
        .map_err(Refusal::Later)?;
    let agreed = next
        .fields(&stored, cluster, operations.newest_version())
        .map_err(refused)?;
    let agreed = Agreed::of(&agreed);
    let stored = operations
        .infra_envs
        .change(stored.id, |newest| {
            // A client of REST may have been faster, so only what the resource changed is taken over.
            let fields = mirror::merge(&Agreed::of(&of_record), &fields(&newest.settings), &merged);
            let settings = settings(fields).unwrap_or_else(|| newest.settings.clone());
            let outcome = infra_env::replace(newest, settings, newest.cluster_id, now())?;
            operations.check_image(&outcome.infra_env)?;
            let next = record::InfraEnv {
                mirror: newest.mirror.as_ref().map(|_| agreed.clone()),
                ..outcome.infra_env
            };
            Ok((next != *newest).then_some((next, outcome.events)))
        })
        .await
        .map_err(not_stored)?;
    Ok(Converged {
        mirror_registry: reconcile::mirror_registry(&resource, context).await?,
        networks,
        stored,
    })
}

/// The refusal if a mirror, or its record, was deleted since the reconcile began. A mirror makes no record: the next reconcile deletes it.
pub(super) fn gone() -> Refusal {
    Refusal::Later(Error::internal("it was deleted meanwhile".into()))
}

fn fields(settings: &Settings) -> Fields {
    json!(settings).as_object().cloned().unwrap_or_default()
}

fn settings(fields: Fields) -> Option<Settings> {
    serde_json::from_value(Value::Object(fields)).ok()
}

/// The pull secret; `None` when there is no such Secret, or the Secret lacks the key.
async fn pull_secret(infra_env: &InfraEnv, context: &Context) -> Result<Option<Secret>, Refusal> {
    let namespace = infra_env.namespace().unwrap_or_default();
    let name = &infra_env.spec.pull_secret_ref.name;
    match secrets::read_secret(&context.client, &namespace, name, key::PULL_SECRET).await {
        Ok(secret) => Ok(Some(secret)),
        Err(ReferenceError::Missing { .. } | ReferenceError::NoKey { .. }) => Ok(None),
        Err(error) => Err(Refusal::of_reference("spec.pullSecretRef", error)),
    }
}

/// Writes the fields of `target` that differ in the resource. Returns its settings after the write.
async fn write(
    resource: &InfraEnv,
    said: Said,
    target: &Settings,
    differs: &impl Fn(&str) -> bool,
    context: &Context,
) -> Result<Said, Error> {
    let mut next = said;
    let before = json!(resource.spec);
    let wanted = json!(shown(target, &resource.spec));
    let mut spec = before.clone();
    for field in fields(target).keys().filter(|field| differs(field)) {
        let name = spec_field(field);
        let name = name.trim_start_matches("spec.");
        match field.as_str() {
            PULL_SECRET => {
                write_secret(resource, &target.pull_secret, context).await?;
                next.pull_secret = Some(target.pull_secret.clone());
            }
            NETWORKS => {
                let objects = network_objects(resource, &target.static_network_config);
                let accepted = sorted_out(objects.clone()).accepted;
                if accepted != next.networks {
                    write_networks(resource, objects, context).await?;
                    next.networks = accepted;
                    spec["nmStateConfigLabelSelector"] = json!(selector(resource));
                }
            }
            _ => spec[name] = wanted.get(name).cloned().unwrap_or_default(),
        }
    }
    if let Some(members) = spec.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    if let Some(patch) = merge_patch(&before, &spec) {
        next.spec = patch_spec(resource, &patch, context).await?.spec;
    }
    Ok(next)
}
