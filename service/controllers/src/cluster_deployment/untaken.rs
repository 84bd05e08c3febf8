//! Gives the reason why a ClusterDeployment is no cluster of this service (yet).

use kube::{Api, Client, ResourceExt};
use muster_controller::references::install_ref;
use muster_core::record::KubeRef;
use muster_resources::{AgentClusterInstall, ClusterDeployment};

/// Returns the reason, and what to do; `wanted` has no record.
///
/// # Errors
/// Fails if the API server does.
pub async fn why_untaken(client: &Client, wanted: &KubeRef) -> kube::Result<String> {
    let deployments = Api::<ClusterDeployment>::namespaced(client.clone(), &wanted.namespace);
    let Some(deployment) = deployments.get_opt(&wanted.name).await? else {
        return Ok(format!(
            "there is no ClusterDeployment {wanted}; create it, or correct the name"
        ));
    };
    let Some(install) = install_ref(&deployment).filter(|name| !name.is_empty()) else {
        return Ok(format!(
            "the ClusterDeployment {wanted} names no AgentClusterInstall in spec.clusterInstallRef, so it is no cluster of this service"
        ));
    };
    let installs = Api::<AgentClusterInstall>::namespaced(client.clone(), &wanted.namespace);
    Ok(match installs.get_metadata_opt(install).await? {
        None => missing_install(&deployment, install),
        Some(_) => format!(
            "the ClusterDeployment {wanted} has not become a cluster of this service yet; see the conditions of its AgentClusterInstall {install}"
        ),
    })
}

/// Returns the reason if the AgentClusterInstall of a ClusterDeployment does not exist.
pub fn missing_install(deployment: &ClusterDeployment, install: &str) -> String {
    let namespace = deployment.namespace().unwrap_or_default();
    format!(
        "the ClusterDeployment {namespace}/{} waits for its AgentClusterInstall {install}, which does not exist; create it (docs/custom-resources.md has an example)",
        deployment.name_any()
    )
}
