//! AgentClusterInstalls without a ClusterDeployment. Source: docs/protocol/kube-controllers.md#6.1.
//!
//! The others are the business of [`super::cluster_deployment`], which tells their status from here as well.

pub mod platform;
pub mod status;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use kube::api::PostParams;
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{Controller, watcher};
use kube::{Api, ResourceExt};
use muster_core::cluster::Cluster;
use muster_core::kube::KubeRef;
use muster_resources::{AgentClusterInstall, ClusterDeployment};
use tokio_util::sync::CancellationToken;

use super::cluster_deployment::{delete, install_ref};
use super::{Context, Error, drive, kube_ref};
use muster_operations::now;
use status::{Known, Synced, status};

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let client = &context.client;
    let controller = Controller::new(
        Api::<AgentClusterInstall>::all(client.clone()),
        watcher::Config::default(),
    );
    let store = controller.store();
    let controller = controller.watches(
        Api::<PartialObjectMeta<ClusterDeployment>>::all(client.clone()),
        watcher::Config::default(),
        move |deployment| {
            let deployment = kube_ref(&deployment);
            let state = store.state();
            let installs = state
                .iter()
                .filter(|install| deployment_ref(install) == deployment);
            let refs: Vec<_> = installs.map(|install| ObjectRef::from_obj(&**install)).collect();
            refs
        },
    );
    drive("agent_cluster_install", controller, context, stop, reconcile).await;
}

/// Tells of a missing ClusterDeployment, and lets go what has lost its own.
async fn reconcile(install: Arc<AgentClusterInstall>, context: Arc<Context>) -> Result<Action, Error> {
    let deployment = deployment_ref(&install);
    let api = Api::<ClusterDeployment>::namespaced(context.client.clone(), &deployment.namespace);
    let found = if deployment.name.is_empty() {
        None
    } else {
        api.get_opt(&deployment.name).await?
    };
    let name = install.name_any();
    let claimed = found.as_ref().and_then(install_ref) == Some(name.as_str());
    if install.metadata.deletion_timestamp.is_some() && !claimed {
        return delete::install(found.as_ref(), &install, &context).await;
    }
    if found.is_none() {
        let why = format!(
            "spec.clusterDeploymentRef: there is no ClusterDeployment {deployment}; create it, with spec.clusterInstallRef naming {name}"
        );
        tell(&install, &context, &Synced::InputError(why), None).await?;
    }
    Ok(Action::await_change())
}

/// The ClusterDeployment that it belongs to.
pub(super) fn deployment_ref(install: &AgentClusterInstall) -> KubeRef {
    KubeRef::new(
        install.namespace().unwrap_or_default(),
        &install.spec.cluster_deployment_ref.name,
    )
}

/// Writes the status, if it differs from the one that was seen.
pub(super) async fn tell(
    install: &AgentClusterInstall,
    context: &Context,
    synced: &Synced,
    cluster: Option<&Cluster>,
) -> Result<(), Error> {
    let known = cluster.map(|cluster| {
        let token = context.app.auth.cluster_token(cluster.id);
        Known {
            cluster,
            events_url: context
                .app
                .urls
                .events("cluster_id", cluster.id, token.as_deref()),
        }
    });
    let before = install.status.as_ref();
    let next = status(&install.spec, before, synced, known.as_ref(), now());
    if before == Some(&next) {
        return Ok(());
    }
    let mut written = install.clone();
    written.status = Some(next);
    written.metadata.managed_fields = None;
    api(context, install)
        .replace_status(&install.name_any(), &PostParams::default(), &written)
        .await?;
    Ok(())
}

pub(super) fn api(context: &Context, install: &AgentClusterInstall) -> Api<AgentClusterInstall> {
    let namespace = install.namespace().unwrap_or_default();
    Api::namespaced(context.client.clone(), &namespace)
}
