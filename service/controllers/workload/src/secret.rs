//! Finds the kubeconfig of a workload cluster: in the Secret that its ClusterDeployment names. Source:
//! docs/protocol/kube-controllers.md#0.

use kube::Client;
use muster_controller::error::words;
use muster_controller::references::kube_ref;
use muster_controller::secrets::{self, ReferenceError};
use muster_core::record::{KubeRef, Secret};
use muster_resources::{ClusterDeployment, names};

use super::kubeconfig::KubeconfigError;

/// A cluster for which there is no client. The texts are for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// The Secret does not exist, or lacks a key.
    #[error("{0}")]
    Secret(String),
    /// The kubeconfig cannot be used.
    #[error("the kubeconfig in the Secret {0} cannot be used: {1}")]
    Kubeconfig(KubeRef, KubeconfigError),
    /// The management cluster does not respond.
    #[error("the Secret {0} cannot be read: {1}")]
    Hub(KubeRef, String),
}

/// A kubeconfig, and the Secret that it was found in.
pub struct Found {
    pub uid: String,
    pub text: Secret,
}

/// Names the Secret with the kubeconfig of a ClusterDeployment's cluster.
pub fn of_deployment(deployment: &ClusterDeployment) -> KubeRef {
    let named = deployment
        .spec
        .cluster_metadata
        .as_ref()
        .map(|metadata| metadata.admin_kubeconfig_secret_ref.name.as_str())
        .filter(|name| !name.is_empty());
    let own = kube_ref(deployment);
    let name = named.map_or_else(|| format!("{}-admin-kubeconfig", own.name), str::to_owned);
    KubeRef::new(own.namespace, name)
}

/// Reads a kubeconfig from its Secret.
pub async fn read(hub: &Client, name: &KubeRef) -> Result<Found, Unreachable> {
    let keys = [names::key::KUBECONFIG, names::key::CAPI_VALUE];
    let (uid, text) = secrets::read_first(hub, name, &keys).await.map_err(|error| match error {
        ReferenceError::Api { source, .. } => Unreachable::Hub(name.clone(), words(&source)),
        ReferenceError::Missing { .. } => Unreachable::Secret(format!(
            "the Secret {name} with the cluster's kubeconfig does not exist; create it with the key {}",
            names::key::KUBECONFIG
        )),
        error @ ReferenceError::Outside { .. } => Unreachable::Secret(error.to_string()),
        ReferenceError::Nameless(_) | ReferenceError::NoKey { .. } | ReferenceError::NotText { .. } => {
            Unreachable::Secret(format!(
                "the Secret {name} has no text under the key {} (or Cluster API's {}); put the cluster's kubeconfig there",
                names::key::KUBECONFIG,
                names::key::CAPI_VALUE
            ))
        }
    })?;
    Ok(Found { uid, text })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_secret_is_the_named_one_or_is_called_as_its_cluster() {
        let deployment = |metadata: serde_json::Value| -> ClusterDeployment {
            serde_json::from_value(json!({
                "apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment",
                "metadata": {"name": "east", "namespace": "lab"},
                "spec": {"clusterName": "east", "baseDomain": "x.test", "platform": {}, "clusterMetadata": metadata},
            }))
            .unwrap()
        };
        let named = json!({"clusterID": "a", "infraID": "b", "adminKubeconfigSecretRef": {"name": "kc"}});
        assert_eq!(of_deployment(&deployment(named)), KubeRef::new("lab", "kc"));
        let own = KubeRef::new("lab", "east-admin-kubeconfig");
        assert_eq!(of_deployment(&deployment(json!(null))), own);
    }
}
