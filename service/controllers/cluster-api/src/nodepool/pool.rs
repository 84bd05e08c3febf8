//! Reconciles NodePools: each becomes an AgentMachineTemplate, Machines and AgentMachines in the namespace of its control plane. Source:
//! docs/protocol/capi-agent-provider.md#8.1 and §8.2.
//!
//! This controller creates and deletes the Machines itself, in place of HyperShift's MachineDeployment (MachineSet, for InPlace).

pub mod delete;
pub mod desired;
pub mod machines;
pub mod plan;
pub mod reconcile;
pub mod repair;
pub mod status;

use std::sync::Arc;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::runtime::watcher;
use muster_controller::debounce::debounced;
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::references::{kube_ref, object_ref};
use muster_controller::{secrets, watch};
use muster_resources::cluster_api::Machine;
use muster_resources::hypershift::{HostedCluster, NODE_POOL, NodePool};
use tokio_util::sync::CancellationToken;

use super::{DEBOUNCE, objects, places};
use crate::context::Context;

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let controller = watch::controller::<NodePool>(&context);
    let store = controller.store();
    let of_cluster = watch::users(&store, |pool, cluster| {
        pool.namespace().as_deref() == Some(&cluster.namespace) && pool.spec.cluster_name == cluster.name
    });
    let of_secret = watch::users(&store, |pool, secret| {
        places::user_data(&pool.namespace().unwrap_or_default(), &pool.name_any()) == *secret
    });
    let all = watcher::Config::default;
    let machines = watch::metadata::<Machine>(&context, all()).filter_map(async |machine| {
        let pool = objects::parse_name(machine.ok()?.annotations().get(NODE_POOL)?)?;
        Some(object_ref::<NodePool>(&pool))
    });
    let controller = controller
        .watches_stream(
            watch::metadata::<HostedCluster>(&context, all()),
            move |cluster| of_cluster(kube_ref(&cluster)),
        )
        .reconcile_on(debounced(machines, DEBOUNCE))
        .watches_stream(
            watch::metadata::<Secret>(&context, secrets::watched()),
            move |secret| of_secret(kube_ref(&secret)),
        );
    let ward = Arc::new(repair::Ward::default());
    let reconcile = move |pool, context| {
        let ward = ward.clone();
        async move { reconcile::reconcile(pool, context, &ward).await }
    };
    drive("node_pool", CONCURRENCY, controller, context, stop, reconcile).await;
}
