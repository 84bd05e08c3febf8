//! Reconciles AgentClusters: each makes the ClusterDeployment that Agents are bound to, and reports when Machines can be
//! made. Source: docs/protocol/capi-agent-provider.md#5.

mod control_plane;
mod desired;
mod endpoint;
mod reconcile;
mod status;

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use kube::core::DynamicObject;
use kube::runtime::reflector::{ObjectRef, Store, store::Writer};
use kube::runtime::watcher::{self, Event};
use kube::{Resource, ResourceExt};
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::references::{kube_ref, object_ref};
use muster_controller::watch;
use muster_core::record::KubeRef;
use muster_resources::names::label;
use muster_resources::{AgentCluster, ClusterDeployment};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::kinds::Kinds;
use super::objects::Cluster;
use super::zones::Zones;
use crate::context::Context;
use reconcile::Clusters;

/// Wait after a change of zones for further ones: many Agents may be labelled at a time.
const ZONES_INTERVAL: Duration = Duration::from_millis(500);

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, kinds: Kinds, zones: Arc<Zones>, stop: CancellationToken) {
    let mut writer = Writer::<DynamicObject>::new(kinds.cluster.clone());
    let clusters = Arc::new(Clusters {
        kind: kinds.cluster.clone(),
        store: writer.as_reader(),
        zones,
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
    let controller = watch::controller::<AgentCluster>(&context);
    let of_zones = of_zones(controller.store(), clusters.clone());
    let of_turns = context.turns.changes(controller.store());
    look_at(controller.store(), &context);
    let controller = controller
        .reconcile_on(changed)
        .reconcile_on(of_zones)
        .reconcile_on(of_turns)
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
            async move {
                let namespace = object.namespace().unwrap_or_default();
                let work = Box::pin(reconcile::reconcile(object, &context, &clusters));
                context.turns.within(&namespace, work).await
            }
        },
    )
    .await;
}

/// Shows AgentClusters to what finds out who serves their namespaces.
fn look_at(own: Store<AgentCluster>, context: &Arc<Context>) {
    // What holds the context holds this.
    let provider = Arc::downgrade(context);
    context.turns.look_by(move |seen| {
        let Some(context) = provider.upgrade() else { return };
        for object in own.state() {
            if context.is_ours(&*object) {
                let place = seen.entry(object.namespace().unwrap_or_default()).or_default();
                place.clusters.push(object.object_ref(&()));
            }
        }
    });
}

/// AgentClusters whose failure domains have changed.
fn of_zones(
    own: Store<AgentCluster>,
    clusters: Arc<Clusters>,
) -> impl Stream<Item = ObjectRef<AgentCluster>> + Send + use<> {
    let changes = stream::unfold((own, clusters), |(own, clusters)| async move {
        clusters.zones.changed().await;
        sleep(ZONES_INTERVAL).await;
        let changed = own.state_filter(|one| clusters.has_other_domains(one));
        let changed: Vec<ObjectRef<AgentCluster>> =
            changed.iter().map(|one| object_ref(&kube_ref(&**one))).collect();
        Some((stream::iter(changed), (own, clusters)))
    });
    changes.flatten()
}
