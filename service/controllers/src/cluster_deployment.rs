//! ClusterDeployments with their AgentClusterInstalls: clusters that hosts are added to. Source: docs/protocol/kube-controllers.md#6.2.
//!
//! Clusters are imported: they exist before this service hears of them. Making one is refused by a condition that says so.

pub mod delete;
pub mod desired;
pub mod reconcile;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Secret;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::{Controller, WatchStreamExt, watcher};
use kube::{Api, ResourceExt};
use muster_api::ids::ClusterId;
use muster_core::kube::KubeRef;
use muster_resources::{AgentClusterInstall, ClusterDeployment, names};
use tokio_util::sync::CancellationToken;

use super::agent_cluster_install::deployment_ref;
use super::{Context, drive, kube_ref, secrets};

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let client = &context.client;
    let (installs, writer) = reflector::store::<AgentClusterInstall>();
    let installs_changed = watcher(
        Api::<AgentClusterInstall>::all(client.clone()),
        watcher::Config::default(),
    )
    .default_backoff()
    .reflect(writer)
    .touched_objects();
    let controller = Controller::new(
        Api::<ClusterDeployment>::all(client.clone()),
        watcher::Config::default(),
    );
    let deployments = controller.store();
    let controller = controller
        .watches_stream(installs_changed, |install| {
            Some(object_ref(&deployment_ref(&install)))
        })
        .watches(
            Api::<PartialObjectMeta<Secret>>::all(client.clone()),
            secrets::watched(),
            move |secret| {
                let secret = kube_ref(&secret);
                let with_pull_secret = deployments
                    .state()
                    .into_iter()
                    .filter(|deployment| uses_pull_secret(deployment, &secret))
                    .map(|deployment| ObjectRef::from_obj(&*deployment));
                let with_certificate = installs
                    .state()
                    .into_iter()
                    .filter(|install| uses_certificate(install, &secret))
                    .map(|install| object_ref(&deployment_ref(&install)));
                with_pull_secret.chain(with_certificate).collect::<Vec<_>>()
            },
        )
        .reconcile_on(pushed(&context));
    drive(
        "cluster_deployment",
        controller,
        context,
        stop,
        reconcile::reconcile,
    )
    .await;
}

/// ClusterDeployments whose own records changed. Those of their hosts change much more often, and nothing is told of them here.
fn pushed(context: &Context) -> impl Stream<Item = ObjectRef<ClusterDeployment>> + Send + use<> {
    let app = context.app.clone();
    let seen: Arc<Mutex<HashMap<ClusterId, i64>>> = Arc::default();
    context.changes.subscribe_clusters().filter_map(move |id| {
        let (app, seen) = (app.clone(), seen.clone());
        async move {
            let version = app.store.cluster_versions(id).await.ok()??.version;
            let before = seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(id, version);
            if before == Some(version) {
                return None;
            }
            let found = app.clusters.find(id, true).await.ok()?;
            found.cluster.kube.as_ref().map(object_ref)
        }
    })
}

fn object_ref(kube: &KubeRef) -> ObjectRef<ClusterDeployment> {
    ObjectRef::new(&kube.name).within(&kube.namespace)
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

/// The name of its AgentClusterInstall; `None`: it is not for us.
pub(super) fn install_ref(deployment: &ClusterDeployment) -> Option<&str> {
    let reference = deployment.spec.cluster_install_ref.as_ref()?;
    let ours = reference.group == names::group::HIVE_EXTENSIONS && reference.kind == "AgentClusterInstall";
    ours.then_some(reference.name.as_str())
}
