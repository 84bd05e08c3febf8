//! Reads whether an administrator holds the installation of hosts into a cluster. Source: docs/protocol/kube-controllers.md#6.2.

use kube::{Api, Client, ResourceExt};
use muster_core::record::KubeRef;
use muster_resources::{AgentClusterInstall, ClusterDeployment};

use crate::error::Error;

/// Annotation of a ClusterDeployment that pauses it.
const PAUSE: &str = "hive.openshift.io/reconcile-pause";

/// The hold, with the way to end it; `None`: the installation is not held.
///
/// # Errors
/// Fails if the API server does.
pub async fn held(client: &Client, deployment: &KubeRef) -> Result<Option<String>, Error> {
    let deployments = Api::<ClusterDeployment>::namespaced(client.clone(), &deployment.namespace);
    let Some(found) = deployments.get_opt(&deployment.name).await? else {
        return Ok(None);
    };
    let is_true = |text: &String| matches!(text.as_str(), "1" | "t" | "T" | "true" | "True" | "TRUE");
    if found.annotations().get(PAUSE).is_some_and(is_true) {
        return Ok(Some(format!(
            "the ClusterDeployment {deployment} is paused; take its annotation {PAUSE} away"
        )));
    }
    let Some(reference) = &found.spec.cluster_install_ref else {
        return Ok(None);
    };
    let installs = Api::<AgentClusterInstall>::namespaced(client.clone(), &deployment.namespace);
    let install = installs.get_opt(&reference.name).await?;
    let is_held = install.is_some_and(|install| install.spec.hold_installation == Some(true));
    Ok(is_held.then(|| {
        format!(
            "the AgentClusterInstall {}/{} holds installations; set its spec.holdInstallation to false",
            deployment.namespace, reference.name
        )
    }))
}
