//! Deletes a NodePool: its Machines, then the objects that they were made from, then the finalizer.

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams};
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::runtime::controller::Action;
use kube::{Api, Resource, ResourceExt};
use muster_controller::error::{Error, unless_absent};
use muster_controller::finalizers;
use muster_controller::references::kube_ref;
use muster_resources::AgentMachineTemplate;
use muster_resources::cluster_api::Machine;
use muster_resources::cluster_api::names::DEPLOYMENT_NAME;
use muster_resources::hypershift::{FINALIZER, NODE_POOL, NodePool};

use super::reconcile::write;
use super::status::Outcome;
use crate::context::Context;
use crate::nodepool::{places, waits};

/// Between two checks; changes of Machines trigger a reconcile at once.
const INTERVAL: Duration = Duration::from_secs(5);

/// Does the next step.
pub async fn delete(pool: &NodePool, context: &Context) -> Result<Action, Error> {
    if !finalizers::has(pool, FINALIZER) {
        return Ok(Action::await_change());
    }
    let machines = machines(pool, context).await?;
    for machine in &machines {
        if machine.metadata.deletion_timestamp.is_none() {
            let namespace = machine.namespace().unwrap_or_default();
            let api = Api::<Machine>::namespaced(context.client.clone(), &namespace);
            unless_absent(api.delete(&machine.name_any(), &DeleteParams::background()).await)?;
        }
    }
    if !machines.is_empty() {
        write(pool, context, &Outcome::Deleting { machines: &machines }).await?;
        return Ok(Action::requeue(INTERVAL));
    }
    remove_all::<AgentMachineTemplate>(pool, context).await?;
    remove_all::<Secret>(pool, context).await?;
    let namespace = pool.namespace().unwrap_or_default();
    let api = Api::<NodePool>::namespaced(context.client.clone(), &namespace);
    finalizers::remove(&api, pool, FINALIZER).await?;
    waits::forget(context, pool);
    Ok(Action::await_change())
}

fn of_pool(pool: &NodePool) -> ListParams {
    ListParams::default().labels(&format!("{DEPLOYMENT_NAME}={}", pool.name_any()))
}

/// Returns the pool's Machines in all namespaces: its HostedCluster, which determines their namespace, may be gone.
async fn machines(pool: &NodePool, context: &Context) -> Result<Vec<Machine>, Error> {
    let own = places::annotation(&kube_ref(pool));
    let api = Api::<Machine>::all(context.client.clone());
    let mut machines = api.list(&of_pool(pool)).await?.items;
    machines.retain(|machine| machine.annotations().get(NODE_POOL) == Some(&own));
    Ok(machines)
}

async fn remove_all<K>(pool: &NodePool, context: &Context) -> Result<(), Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let own = places::annotation(&kube_ref(pool));
    let found = Api::<K>::all(context.client.clone())
        .list_metadata(&of_pool(pool))
        .await?;
    let of_pool = |object: &PartialObjectMeta<K>| {
        let annotations = object.metadata.annotations.as_ref();
        annotations.and_then(|all| all.get(NODE_POOL)) == Some(&own)
    };
    for object in found.items.iter().filter(|object| of_pool(object)) {
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let name = object.metadata.name.clone().unwrap_or_default();
        let api = Api::<K>::namespaced(context.client.clone(), &namespace);
        unless_absent(api.delete(&name, &DeleteParams::default()).await)?;
    }
    Ok(())
}
