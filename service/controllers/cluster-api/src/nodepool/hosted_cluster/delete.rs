//! Deletes the objects of a HostedCluster, in order: NodePools, Cluster (with Machines, HostedControlPlane and AgentCluster),
//! namespace, finalizer.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, ListParams};
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use muster_controller::error::{Error, unless_absent};
use muster_controller::finalizers;
use muster_resources::cluster_api::Cluster;
use muster_resources::hypershift::{FINALIZER, HostedCluster, NodePool};

use super::reconcile::write;
use super::status::Outcome;
use crate::context::Context;
use crate::nodepool::{places, waits};

/// Between two checks; changes of NodePools and Clusters trigger a reconcile at once.
const INTERVAL: Duration = Duration::from_secs(5);

/// Does the next step.
pub async fn delete(hosted: &HostedCluster, context: &Context) -> Result<Action, Error> {
    if !finalizers::has(hosted, FINALIZER) {
        return Ok(Action::await_change());
    }
    if let Some(what) = next_step(hosted, context).await? {
        write(hosted, context, &Outcome::Deleting(what)).await?;
        return Ok(Action::requeue(INTERVAL));
    }
    let namespace = hosted.namespace().unwrap_or_default();
    let api = Api::<HostedCluster>::namespaced(context.client.clone(), &namespace);
    finalizers::remove(&api, hosted, FINALIZER).await?;
    waits::forget(context, hosted);
    Ok(Action::await_change())
}

/// Returns the next wait; `None`: everything is gone.
async fn next_step(hosted: &HostedCluster, context: &Context) -> Result<Option<String>, Error> {
    let client = &context.client;
    let pools = Api::<NodePool>::namespaced(client.clone(), &hosted.namespace().unwrap_or_default());
    let mut present = pools.list(&ListParams::default()).await?.items;
    present.retain(|pool| pool.spec.cluster_name == hosted.name_any());
    for pool in &present {
        if pool.metadata.deletion_timestamp.is_none() {
            unless_absent(pools.delete(&pool.name_any(), &DeleteParams::background()).await)?;
        }
    }
    if !present.is_empty() {
        let names: Vec<String> = present.iter().map(ResourceExt::name_any).collect();
        return Ok(Some(format!(
            "waits for its NodePools to go: {}",
            names.join(", ")
        )));
    }
    let namespaces = Api::<Namespace>::all(client.clone());
    let name = places::namespace(hosted);
    let namespace = namespaces.get_opt(&name).await?;
    if namespace
        .as_ref()
        .is_some_and(|namespace| places::is_of_another(hosted, namespace))
    {
        return Ok(None);
    }
    let place = places::cluster(hosted);
    let clusters = Api::<Cluster>::namespaced(client.clone(), &place.namespace);
    if let Some(cluster) = clusters.get_opt(&place.name).await? {
        if cluster.metadata.deletion_timestamp.is_none() {
            unless_absent(clusters.delete(&place.name, &DeleteParams::background()).await)?;
        }
        let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
        let mut why = conditions
            .filter(|condition| condition.type_ == "Deleting" && condition.status == "True")
            .map(|condition| format!(": it {}", condition.message));
        let why = why.next_back().unwrap_or_default();
        return Ok(Some(format!("waits for the Cluster {place} to go{why}")));
    }
    // A namespace that was made by a user stays.
    let Some(namespace) = namespace.filter(|namespace| places::is_own(hosted, namespace)) else {
        return Ok(None);
    };
    if namespace.metadata.deletion_timestamp.is_none() {
        unless_absent(namespaces.delete(&name, &DeleteParams::background()).await)?;
    }
    Ok(Some(format!("waits for the namespace {name} to go")))
}
