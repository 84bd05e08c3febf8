//! Reconciles ClusterDeployments with their AgentClusterInstalls: clusters that hosts are added to.
//! Source: docs/protocol/kube-controllers.md#6.2.
//!
//! Clusters are imported: they exist before this service knows them. A ClusterDeployment for a new cluster is refused by a
//! condition.

pub mod delete;
pub mod desired;
pub mod mirrored;
pub mod reconcile;
mod same_api;
pub mod shown;
#[cfg(test)]
mod tests;
pub mod untaken;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::{WatchStreamExt, watcher};
use muster_api::ids::ClusterId;
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::references::{deployment_ref, kube_ref, object_ref};
use muster_controller::{secrets, watch};
use muster_core::record::KubeRef;
use muster_resources::{AgentClusterInstall, ClusterDeployment};
use tokio_util::sync::CancellationToken;

use super::context::Context;

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let (installs, writer) = reflector::store::<AgentClusterInstall>();
    let installs_changed = watch::watch(&context, watcher::Config::default(), installs.clone())
        .map(Ok)
        .reflect(writer)
        .filter(watch::news(&context))
        .touched_objects();
    let controller = watch::controller::<ClusterDeployment>(&context);
    let deployments = controller.store();
    let secrets = watch::metadata::<Secret>(&context, secrets::watched());
    let controller = controller
        .watches_stream(installs_changed, |install| {
            Some(object_ref(&deployment_ref(&install)))
        })
        .watches_stream(secrets, move |secret| {
            let secret = kube_ref(&secret);
            let with_pull_secret = deployments.state_filter(|one| uses_pull_secret(one, &secret));
            let with_certificate = installs.state_filter(|one| uses_certificate(one, &secret));
            let with_pull_secret = with_pull_secret.iter().map(|one| kube_ref(&**one));
            let with_certificate = with_certificate.iter().map(|one| deployment_ref(one));
            let users: Vec<KubeRef> = with_pull_secret.chain(with_certificate).collect();
            users.into_iter().map(|user| object_ref(&user))
        })
        .reconcile_on(changed(&context));
    let name = "cluster_deployment";
    drive(name, CONCURRENCY, controller, context, stop, reconcile::reconcile).await;
}

/// ClusterDeployments with changed records. The records of their hosts change much more often, and trigger
/// nothing here.
fn changed(context: &Context) -> impl Stream<Item = ObjectRef<ClusterDeployment>> + Send + use<> {
    let operations = context.operations.clone();
    let seen: Arc<Mutex<HashMap<ClusterId, i64>>> = Arc::default();
    context.changes.subscribe_clusters().filter_map(move |id| {
        let (operations, seen) = (operations.clone(), seen.clone());
        async move {
            let version = operations.clusters.version(id).await.ok()??;
            let before = seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(id, version);
            if before == Some(version) {
                return None;
            }
            let found = operations.clusters.find(id, true).await.ok()?;
            found.cluster.kube.as_ref().map(object_ref)
        }
    })
}

fn uses_pull_secret(deployment: &ClusterDeployment, secret: &KubeRef) -> bool {
    let reference = deployment.spec.pull_secret_ref.as_ref();
    deployment.namespace().as_deref() == Some(&secret.namespace)
        && reference.is_some_and(|reference| reference.name == secret.name)
}

fn uses_certificate(install: &AgentClusterInstall, secret: &KubeRef) -> bool {
    let endpoint = install.spec.ignition_endpoint.as_ref();
    endpoint
        .and_then(|endpoint| endpoint.ca_certificate_reference.as_ref())
        .is_some_and(|it| it.namespace == secret.namespace && it.name == secret.name)
}
