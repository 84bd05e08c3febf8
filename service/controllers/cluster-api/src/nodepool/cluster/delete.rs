//! Deletes a Cluster in Cluster API's order: Machines, control plane, infrastructure, finalizer.

use std::time::Duration;

use kube::api::DeleteParams;
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use muster_api::time::now;
use muster_controller::error::{Error, unless_absent};
use muster_controller::finalizers;
use muster_resources::cluster_api::names::CLUSTER_FINALIZER;
use muster_resources::cluster_api::{Cluster, Machine};

use super::reconcile::{machines, namespace, write};
use super::status::{self, Reason};
use crate::context::Context;
use crate::nodepool::{objects, waits};

/// Between two checks of the objects being deleted; changes of Machines and AgentClusters trigger a reconcile at once.
const INTERVAL: Duration = Duration::from_secs(5);

/// Most names in one message.
const NAMED: usize = 5;

/// Does the next step, and removes the finalizer after the last.
pub async fn delete(cluster: &Cluster, context: &Context) -> Result<Action, Error> {
    if !finalizers::has(cluster, CLUSTER_FINALIZER) {
        return Ok(Action::await_change());
    }
    let Some((reason, message)) = next_step(cluster, context).await? else {
        let api = Api::<Cluster>::namespaced(context.client.clone(), &namespace(cluster));
        finalizers::remove(&api, cluster, CLUSTER_FINALIZER).await?;
        waits::forget(context, cluster);
        return Ok(Action::await_change());
    };
    let before = cluster.status.as_ref();
    let next = status::deleting(before, reason, &message, now());
    write(cluster, context, next).await?;
    Ok(Action::requeue(INTERVAL))
}

/// Returns the next wait; `None`: everything is gone.
async fn next_step(cluster: &Cluster, context: &Context) -> Result<Option<(Reason, String)>, Error> {
    let namespace = namespace(cluster);
    let machines = machines(cluster, context).await?;
    let api = Api::<Machine>::namespaced(context.client.clone(), &namespace);
    for machine in &machines {
        if machine.metadata.deletion_timestamp.is_none() {
            unless_absent(api.delete(&machine.name_any(), &DeleteParams::background()).await)?;
        }
    }
    if !machines.is_empty() {
        let names: Vec<String> = machines.iter().take(NAMED).map(ResourceExt::name_any).collect();
        let message = format!(
            "waits for {} Machines to go: {}",
            machines.len(),
            names.join(", ")
        );
        return Ok(Some((Reason::WaitingForWorkersDeletion, message)));
    }
    let steps = [
        (
            &cluster.spec.control_plane_ref,
            Reason::WaitingForControlPlaneDeletion,
        ),
        (
            &cluster.spec.infrastructure_ref,
            Reason::WaitingForInfrastructureDeletion,
        ),
    ];
    for (reference, reason) in steps {
        if let Some(reference) = reference
            && objects::deleted(&context.client, &namespace, reference).await?
        {
            let message = format!("waits for the {} {} to go", reference.kind, reference.name);
            return Ok(Some((reason, message)));
        }
    }
    Ok(None)
}
