//! Reconciles HostedClusters of the platform Agent: a namespace for the objects, copies of Secrets, Cluster, HostedControlPlane and
//! AgentCluster. Source: docs/protocol/capi-agent-provider.md#8.
//!
//! The control plane exists already. Its administrator's kubeconfig is in the Secret `NAME-admin-kubeconfig` (key `kubeconfig`).

pub mod delete;
pub mod desired;
pub mod reconcile;
pub mod status;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::references::{kube_ref, object_ref};
use muster_controller::{secrets, watch};
use muster_resources::AgentCluster;
use muster_resources::cluster_api::Cluster;
use muster_resources::hypershift::{HOSTED_CLUSTER, HostedCluster, NodePool};
use tokio_util::sync::CancellationToken;

use super::changed::without_status;
use super::{objects, places};
use crate::context::Context;

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let controller = watch::controller::<HostedCluster>(&context);
    let store = controller.store();
    let of_secret = watch::users(&store, |hosted, secret| {
        let is_here = hosted.namespace().as_deref() == Some(&secret.namespace);
        let pull_secret = hosted
            .spec
            .pull_secret
            .as_ref()
            .map(|secret| secret.name.as_str());
        let is_pull_secret = is_here && pull_secret == Some(&secret.name);
        // Bootstrap data of its pools contain the address of the Ignition server.
        let is_user_data = is_here && secret.name.starts_with("user-data-");
        is_pull_secret || is_user_data || places::kubeconfig(hosted) == *secret
    });
    // A pool that is created or deleted changes what a deletion waits for.
    let of_pool = watch::users(&store, |hosted, pool| {
        hosted.namespace().as_deref() == Some(&pool.namespace)
    });
    let all = watcher::Config::default;
    let clusters = without_status(watch::metadata::<Cluster>(&context, all()));
    let pools = without_status(watch::metadata::<NodePool>(&context, all()));
    let controller = controller
        .watches_stream(clusters, |it| made_for(it.annotations().get(HOSTED_CLUSTER)))
        .watches_stream(watch::metadata::<AgentCluster>(&context, all()), |it| {
            made_for(it.annotations().get(HOSTED_CLUSTER))
        })
        .watches_stream(pools, move |pool| of_pool(kube_ref(&pool)))
        .watches_stream(
            watch::metadata::<Secret>(&context, secrets::watched()),
            move |secret| of_secret(kube_ref(&secret)),
        );
    let name = "hosted_cluster";
    drive(name, CONCURRENCY, controller, context, stop, reconcile::reconcile).await;
}

fn made_for(annotation: Option<&String>) -> Option<ObjectRef<HostedCluster>> {
    Some(object_ref(&objects::parse_name(annotation?)?))
}
