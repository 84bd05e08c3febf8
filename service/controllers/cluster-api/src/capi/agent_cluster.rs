//! Reconciles AgentClusters: each makes the ClusterDeployment that Agents are bound to, and reports when Machines can be
//! made. Source: docs/protocol/capi-agent-provider.md#5.

mod control_plane;
mod desired;
mod reconcile;
mod status;

use std::sync::Arc;

use futures_util::StreamExt;
use kube::ResourceExt;
use kube::core::DynamicObject;
use kube::runtime::reflector::{ObjectRef, store::Writer};
use kube::runtime::watcher::{self, Event};
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::references::object_ref;
use muster_controller::watch;
use muster_core::record::KubeRef;
use muster_resources::names::label;
use muster_resources::{AgentCluster, ClusterDeployment};
use tokio_util::sync::CancellationToken;

use super::kinds::Kinds;
use super::objects::Cluster;
use crate::context::Context;
use reconcile::Clusters;

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, kinds: Kinds, stop: CancellationToken) {
    let mut writer = Writer::<DynamicObject>::new(kinds.cluster.clone());
    let clusters = Arc::new(Clusters {
        kind: kinds.cluster.clone(),
        store: writer.as_reader(),
    });
    let changed = watch::dynamic(&context, &kinds.cluster, watcher::Config::default());
    let changed = changed.filter_map(move |mut event| {
        if let Event::Apply(cluster) | Event::InitApply(cluster) = &mut event {
            cluster.metadata.managed_fields = None;
        }
        writer.apply_watcher_event(&event);
        let touched = match &event {
            Event::Apply(cluster) | Event::Delete(cluster) | Event::InitApply(cluster) => {
                Cluster(cluster).agent_cluster()
            }
            Event::Init | Event::InitDone => None,
        };
        std::future::ready(touched.map(|name| object_ref::<AgentCluster>(&name)))
    });
    let deployments = watcher::Config::default().labels(label::AGENT_CLUSTER_REF);
    let deployments = watch::metadata::<ClusterDeployment>(&context, deployments);
    let controller = watch::controller::<AgentCluster>(&context)
        .reconcile_on(changed)
        .watches_stream(deployments, |deployment| -> Option<ObjectRef<AgentCluster>> {
            let name = deployment.labels().get(label::AGENT_CLUSTER_REF)?;
            let namespace = deployment.namespace().unwrap_or_default();
            Some(object_ref(&KubeRef::new(namespace, name)))
        });
    drive(
        "agent_cluster",
        CONCURRENCY,
        controller,
        context,
        stop,
        move |object, context| {
            let clusters = clusters.clone();
            async move { reconcile::reconcile(object, &context, &clusters).await }
        },
    )
    .await;
}
