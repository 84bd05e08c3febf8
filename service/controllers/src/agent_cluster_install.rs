//! Reconciles AgentClusterInstalls without a ClusterDeployment. Source:
//! docs/protocol/kube-controllers.md#6.1.
//!
//! [`super::cluster_deployment`] reconciles the others, and writes their status with the function here.

pub mod platform;
pub mod status;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use kube::{Api, ResourceExt};
use muster_controller::conditions::Synced;
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::finalizers;
use muster_controller::health;
use muster_controller::references::{deployment_ref, install_ref, kube_ref};
use muster_controller::watch;
use muster_core::record::Cluster;
use muster_operations::auth::{ClusterUrl, UrlPurpose};
use muster_operations::now;
use muster_resources::{AgentClusterInstall, ClusterDeployment};
use status::{SIGNS, StoredCluster, status};
use tokio_util::sync::CancellationToken;

use super::cluster_deployment::delete;
use super::context::Context;
use super::error::Error;

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let controller = watch::controller_without_own_writes::<AgentClusterInstall>(&context);
    let store = controller.store();
    let deployments = watch::metadata::<ClusterDeployment>(&context, watcher::Config::default());
    let controller = controller.watches_stream(deployments, move |deployment| {
        let deployment = kube_ref(&deployment);
        let installs = store.state_filter(|install| deployment_ref(install) == deployment);
        installs.into_iter().map(|install| ObjectRef::from_obj(&*install))
    });
    let name = "agent_cluster_install";
    drive(name, CONCURRENCY, controller, context, stop, reconcile).await;
}

/// Reports a missing ClusterDeployment, and releases an AgentClusterInstall whose ClusterDeployment is gone.
async fn reconcile(install: Arc<AgentClusterInstall>, context: Arc<Context>) -> Result<Action, Error> {
    if finalizers::is_moved(&*install) {
        return delete::moved_install(&install, &context).await;
    }
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
    if let Some(found) = &found
        && !claimed
    {
        let why = match install_ref(found) {
            Some(other) => format!(
                "spec.clusterInstallRef of the ClusterDeployment {deployment} names {other}, not {name}"
            ),
            None => format!(
                "spec.clusterInstallRef of the ClusterDeployment {deployment} is missing; it must name {name}"
            ),
        };
        write_status(&install, &context, &Synced::Input(why), None).await?;
    }
    if found.is_none() {
        let why = format!(
            "spec.clusterDeploymentRef: there is no ClusterDeployment {deployment}; create it, with spec.clusterInstallRef naming {name}"
        );
        write_status(&install, &context, &Synced::Input(why), None).await?;
    }
    Ok(Action::await_change())
}

/// Writes the status, if it differs from the one that was read.
pub(super) async fn write_status(
    install: &AgentClusterInstall,
    context: &Context,
    synced: &Synced,
    cluster: Option<&Cluster>,
) -> Result<(), Error> {
    let stored = cluster.map(|cluster| {
        let scope = ClusterUrl {
            purpose: UrlPurpose::Events,
            host_id: None,
        };
        let known = install
            .status
            .as_ref()
            .and_then(|status| status.debug_info.as_ref());
        let known = known.and_then(|info| info.events_url.as_deref());
        let token = context
            .operations
            .auth
            .kept_cluster_url_token(cluster, scope, known, now());
        StoredCluster {
            cluster,
            events_url: context
                .operations
                .urls
                .events("cluster_id", cluster.id, token.as_deref()),
        }
    });
    let before = install.status.as_ref();
    let mut next = status(&install.spec, before, synced, stored.as_ref(), now());
    health::show(&mut next.conditions, &SIGNS, now());
    Ok(muster_controller::status::write(context, install, before, &next).await?)
}

pub(super) fn api(context: &Context, install: &AgentClusterInstall) -> Api<AgentClusterInstall> {
    let namespace = install.namespace().unwrap_or_default();
    Api::namespaced(context.client.clone(), &namespace)
}
