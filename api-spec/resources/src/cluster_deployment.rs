//! A ClusterDeployment: Hive's object for a cluster, of which the agent platform reads a part (docs/protocol/kube-controllers.md#6.2).
//! What is not declared here is kept in `others`, in objects and in the CRD alike.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::absent::absent_is_default;
use crate::{HiveCondition, schema, selector};

/// Members that are Hive's business.
pub type Others = BTreeMap<String, Value>;

/// The cluster.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[schemars(rename = "ClusterDeploymentSpec")]
#[kube(
    group = "hive.openshift.io",
    version = "v1",
    kind = "ClusterDeployment",
    plural = "clusterdeployments",
    shortname = "cd",
    namespaced,
    status = "ClusterDeploymentStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A cluster that is to be installed, or is installed. How it is installed on Agents stands in the AgentClusterInstall that it names.",
    printcolumn(
        name = "InfraID",
        json_path = ".spec.clusterMetadata.infraID",
        type_ = "string"
    ),
    printcolumn(
        name = "Platform",
        json_path = r".metadata.labels.hive\.openshift\.io/cluster-platform",
        type_ = "string"
    ),
    printcolumn(
        name = "Region",
        json_path = r".metadata.labels.hive\.openshift\.io/cluster-region",
        type_ = "string"
    ),
    printcolumn(
        name = "Version",
        json_path = r".metadata.labels.hive\.openshift\.io/version-major-minor-patch",
        type_ = "string"
    ),
    printcolumn(
        name = "ClusterType",
        json_path = r".metadata.labels.hive\.openshift\.io/cluster-type",
        type_ = "string"
    ),
    printcolumn(
        name = "ProvisionStatus",
        json_path = ".status.conditions[?(@.type=='Provisioned')].reason",
        type_ = "string"
    ),
    printcolumn(name = "PowerState", json_path = ".status.powerState", type_ = "string"),
    printcolumn(name = "Age", json_path = ".metadata.creationTimestamp", type_ = "date")
)]
pub struct ClusterDeploymentSpec {
    /// Name of the cluster; with `baseDomain` it makes the cluster's domain.
    pub cluster_name: String,
    /// Domain that the cluster's own is a part of.
    pub base_domain: String,
    /// What the cluster runs on.
    pub platform: ClusterDeploymentPlatform,
    /// The object that tells how the cluster is installed: an AgentClusterInstall for clusters of Agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_install_ref: Option<ClusterInstallReference>,
    /// Whether the cluster is installed. Set from the start for one that is imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed: Option<bool>,
    /// What is known of the cluster once it is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_metadata: Option<ClusterDeploymentMetadata>,
    /// Secret in the same namespace with the registries' credentials, under the key `.dockerconfigjson`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<OptionalLocalReference>,
    /// Settings of the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_config: Option<ControlPlaneConfig>,
    /// Leave the cluster as it is when this object is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_on_delete: Option<bool>,
    /// `Running` or `Hibernating`: what the machines shall be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["", "Running", "Hibernating"]))]
    pub power_state: Option<String>,
    /// How often an installation is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_attempts_limit: Option<i32>,
    /// Whether Hive writes the cluster's names into DNS.
    #[serde(rename = "manageDNS", skip_serializing_if = "Option::is_none")]
    pub manage_dns: Option<bool>,
    /// The pool that the cluster comes from; Hive's business.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub cluster_pool_ref: Option<Map<String, Value>>,
    /// How Hive's own installer works; not used for Agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub provisioning: Option<Map<String, Value>>,
    /// What else is there.
    #[serde(flatten)]
    pub others: Others,
}
absent_is_default!(ClusterDeploymentSpec);

/// What a cluster runs on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDeploymentPlatform {
    /// Hosts that booted a discovery image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_bare_metal: Option<AgentBareMetalPlatform>,
    /// What else is there.
    #[serde(flatten)]
    pub others: Others,
}

/// Hosts that booted a discovery image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentBareMetalPlatform {
    /// Selects the Agents that may become part of the cluster.
    #[schemars(schema_with = "selector::plain_schema")]
    pub agent_selector: LabelSelector,
}

/// The object that tells how a cluster is installed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterInstallReference {
    /// API group, such as `extensions.hive.openshift.io`.
    pub group: String,
    /// Kind, such as `AgentClusterInstall`.
    pub kind: String,
    /// Name, in the same namespace.
    pub name: String,
    /// Version of the API group, such as `v1beta1`.
    pub version: String,
}

/// What is known of an installed cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDeploymentMetadata {
    /// The cluster's id for the world outside.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    /// Id that names of the cluster's infrastructure begin with.
    #[serde(rename = "infraID")]
    pub infra_id: String,
    /// Secret with the administrator's kubeconfig, under the key `kubeconfig`.
    pub admin_kubeconfig_secret_ref: OptionalLocalReference,
    /// Secret with the administrator's `username` and `password`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_password_secret_ref: Option<OptionalLocalReference>,
    /// What else is there.
    #[serde(flatten)]
    pub others: Others,
}

/// An object in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OptionalLocalReference {
    /// Name of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Settings of the control plane.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneConfig {
    /// Certificates that the API shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving_certificates: Option<ServingCertificates>,
    /// What else is there.
    #[serde(flatten)]
    pub others: Others,
}

/// Certificates that the API shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServingCertificates {
    /// Name of the certificate bundle for all names without one of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Certificates for further names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional: Vec<AdditionalCertificate>,
}

/// A certificate for a further name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdditionalCertificate {
    /// Name of the certificate bundle.
    pub name: String,
    /// Domain that it is shown for.
    pub domain: String,
}

/// How the cluster stands; written by Hive.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDeploymentStatus {
    /// How the cluster and its installation stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<HiveCondition>,
    /// URL of the cluster's API.
    #[serde(rename = "apiURL", skip_serializing_if = "Option::is_none")]
    pub api_url: Option<String>,
    /// URL of the cluster's console.
    #[serde(rename = "webConsoleURL", skip_serializing_if = "Option::is_none")]
    pub web_console_url: Option<String>,
    /// Image with the command line tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cli_image: Option<String>,
    /// Image with the installer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installer_image: Option<String>,
    /// How often the installation began anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub install_restarts: Option<i64>,
    /// When the installation began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_started_timestamp: Option<Time>,
    /// When the cluster was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_timestamp: Option<Time>,
    /// Version that was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_version: Option<String>,
    /// What the machines are: running, hibernating, or on their way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_state: Option<String>,
    /// What only some platforms know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub platform_status: Option<Map<String, Value>>,
    /// What else is there.
    #[serde(flatten)]
    pub others: Others,
}
