//! Reconciles Clusters like Cluster API's core: phase, readiness, numbers of Machines, and their deletion in order. Source:
//! docs/protocol/capi-agent-provider.md#7.

pub mod delete;
pub mod reconcile;
pub mod status;

use std::sync::Arc;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};
use muster_controller::debounce::debounced;
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::references::{cluster_api_owner, object_ref};
use muster_controller::{secrets, watch};
use muster_core::record::KubeRef;
use muster_resources::AgentCluster;
use muster_resources::cluster_api::names::CLUSTER_NAME;
use muster_resources::cluster_api::{Cluster, Machine};
use muster_resources::hypershift::HostedControlPlane;
use tokio_util::sync::CancellationToken;

use crate::context::Context;

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let all = watcher::Config::default;
    let machines = watch::metadata::<Machine>(&context, all());
    let machines = machines.filter_map(async |machine| of_label(&machine.ok()?));
    let controller = watch::controller::<Cluster>(&context)
        .watches_stream(watch::metadata::<AgentCluster>(&context, all()), |it| {
            of_owner(&it)
        })
        .watches_stream(watch::metadata::<HostedControlPlane>(&context, all()), |it| {
            of_owner(&it)
        })
        .reconcile_on(debounced(machines, super::DEBOUNCE))
        .watches_stream(watch::metadata::<Secret>(&context, secrets::watched()), |it| {
            of_label(&it)
        });
    drive(
        "cluster",
        CONCURRENCY,
        controller,
        context,
        stop,
        reconcile::reconcile,
    )
    .await;
}

fn of_owner<K>(object: &PartialObjectMeta<K>) -> Option<ObjectRef<Cluster>>
where
    PartialObjectMeta<K>: Resource,
{
    let owner = cluster_api_owner(object, "Cluster")?;
    let namespace = object.namespace().unwrap_or_default();
    Some(object_ref(&KubeRef::new(namespace, &owner.name)))
}

fn of_label<K>(object: &PartialObjectMeta<K>) -> Option<ObjectRef<Cluster>>
where
    PartialObjectMeta<K>: ResourceExt,
{
    let name = object.labels().get(CLUSTER_NAME)?;
    Some(object_ref(&KubeRef::new(
        object.namespace().unwrap_or_default(),
        name,
    )))
}
