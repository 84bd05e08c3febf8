//! A HostedCluster, and its control plane as Cluster API sees it.

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Local, Release};
use crate::StandardCondition;
use crate::absent::absent_is_default;

/// What the cluster shall be.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase", default)]
#[kube(
    group = "hypershift.openshift.io",
    version = "v1beta1",
    kind = "HostedCluster",
    plural = "hostedclusters",
    namespaced,
    status = "HostedClusterStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct HostedClusterSpec {
    /// The release of the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    /// What nodes run on.
    pub platform: HostedClusterPlatform,
    /// Name of the Cluster.
    #[serde(rename = "infraID", skip_serializing_if = "Option::is_none")]
    pub infra_id: Option<String>,
    /// Id of the cluster for the world outside.
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// Names of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<Dns>,
    /// Credentials of registries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secret: Option<Local>,
    /// Nothing is done until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
}
absent_is_default!(HostedClusterSpec);

/// What nodes of a HostedCluster run on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostedClusterPlatform {
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentPlatform>,
}

/// Agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentPlatform {
    /// Their namespace.
    pub agent_namespace: String,
}

/// Names of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Dns {
    /// Domain that the cluster's own is a part of.
    pub base_domain: String,
}

/// What the cluster is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostedClusterStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StandardCondition>,
    /// Secret with the administrator's kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<Local>,
    /// Where the cluster's API is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<Endpoint>,
    /// Host of the Ignition server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint: Option<String>,
    /// Versions of the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Map<String, Value>>,
}

/// Where an API is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
}

/// What the control plane shall be.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase", default)]
#[kube(
    group = "hypershift.openshift.io",
    version = "v1beta1",
    kind = "HostedControlPlane",
    plural = "hostedcontrolplanes",
    namespaced,
    status = "HostedControlPlaneStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct HostedControlPlaneSpec {
    /// Names of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<Dns>,
    /// Credentials of registries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secret: Option<Local>,
    /// Name of the Cluster.
    #[serde(rename = "infraID", skip_serializing_if = "Option::is_none")]
    pub infra_id: Option<String>,
    /// Id of the cluster for the world outside.
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// Image of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_image: Option<String>,
    /// What the control plane's own nodes run on: `None`.
    pub platform: HostedClusterPlatform,
}
absent_is_default!(HostedControlPlaneSpec);

/// What the control plane is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostedControlPlaneStatus {
    /// It takes requests.
    pub ready: bool,
    /// It took requests.
    pub initialized: bool,
    /// It is not made of Machines.
    pub external_managed_control_plane: bool,
    /// Secret with the administrator's kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<KubeconfigReference>,
    /// Where the API is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<Endpoint>,
}

/// A kubeconfig in a Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KubeconfigReference {
    /// The Secret.
    pub name: String,
    /// The key.
    pub key: String,
}
