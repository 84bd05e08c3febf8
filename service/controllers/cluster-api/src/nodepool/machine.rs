//! Reconciles Machines like Cluster API's core: their phase, their Node, and their deletion in order. Source:
//! docs/protocol/capi-agent-provider.md#4 and §7.

pub mod delete;
pub mod in_place;
mod limits;
pub mod node;
pub mod reconcile;
pub mod status;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::runtime::watcher;
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::references::{cluster_api_owner, kube_ref, object_ref};
use muster_controller::{secrets, watch};
use muster_core::record::KubeRef;
use muster_resources::AgentMachine;
use muster_resources::cluster_api::{Cluster, Machine};
use tokio_util::sync::CancellationToken;

use super::changed::without_status;
use crate::context::Context;

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let controller = watch::controller::<Machine>(&context);
    let store = controller.store();
    let of_cluster = watch::users(&store, |machine, cluster| {
        machine.namespace().as_deref() == Some(&cluster.namespace)
            && machine.spec.cluster_name == cluster.name
    });
    let of_secret = watch::users(&store, |machine, secret| {
        machine.namespace().as_deref() == Some(&secret.namespace)
            && machine.spec.bootstrap.data_secret_name.as_deref() == Some(&secret.name)
    });
    let all = watcher::Config::default;
    // The Cluster's status counts its Machines, and changes with each of them.
    let clusters = without_status(watch::metadata::<Cluster>(&context, all()));
    let controller = controller
        .watches_stream(
            watch::metadata::<AgentMachine>(&context, all()),
            |agent_machine| {
                // The AgentMachine has the name of its Machine if this service made it; otherwise the owner is the Machine.
                let owner = cluster_api_owner(&agent_machine, "Machine");
                let name = owner.map_or_else(|| agent_machine.name_any(), |owner| owner.name.clone());
                let namespace = agent_machine.namespace().unwrap_or_default();
                Some(object_ref::<Machine>(&KubeRef::new(namespace, name)))
            },
        )
        .watches_stream(clusters, move |cluster| of_cluster(kube_ref(&cluster)))
        .watches_stream(
            watch::metadata::<Secret>(&context, secrets::watched()),
            move |secret| of_secret(kube_ref(&secret)),
        );
    drive(
        "machine",
        CONCURRENCY,
        controller,
        context,
        stop,
        reconcile::reconcile,
    )
    .await;
}
