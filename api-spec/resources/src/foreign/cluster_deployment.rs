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

/// Members that only Hive uses.
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
    doc = "A cluster that is to be installed, or is installed. The AgentClusterInstall that it names has the settings of its installation on Agents.",
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
    /// Platform of the cluster.
    pub platform: ClusterDeploymentPlatform,
    /// The object with the settings of the installation: an AgentClusterInstall for clusters of Agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_install_ref: Option<ClusterInstallReference>,
    /// True when the cluster is installed. Set from the start for one that is imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed: Option<bool>,
    /// Ids and credentials of the cluster, once it is installed.
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
    /// Desired power state of the machines: `Running` or `Hibernating`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["", "Running", "Hibernating"]))]
    pub power_state: Option<String>,
    /// Maximum number of attempts to install.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_attempts_limit: Option<i32>,
    /// True when Hive manages the cluster's DNS names.
    #[serde(rename = "manageDNS", skip_serializing_if = "Option::is_none")]
    pub manage_dns: Option<bool>,
    /// The ClusterPool that the cluster comes from; managed by Hive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub cluster_pool_ref: Option<Map<String, Value>>,
    /// Settings of Hive's own installer; not used for Agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub provisioning: Option<Map<String, Value>>,
    /// All other members.
    #[serde(flatten)]
    pub others: Others,
}
absent_is_default!(ClusterDeploymentSpec);

/// Platform of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDeploymentPlatform {
    /// Hosts that booted a discovery image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_bare_metal: Option<AgentBareMetalPlatform>,
    /// All other members.
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

/// The object with the settings of the installation.
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

/// Ids and credentials of an installed cluster.
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
    /// All other members.
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
    /// Serving certificates of the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving_certificates: Option<ServingCertificates>,
    /// All other members.
    #[serde(flatten)]
    pub others: Others,
}

/// Serving certificates of the API.
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
    /// Domain that the certificate is for.
    pub domain: String,
}

/// Observed state of the cluster; written by Hive.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDeploymentStatus {
    /// Conditions of the cluster and its installation.
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
    /// Number of times that the installation was restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub install_restarts: Option<i64>,
    /// Time at which the installation began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_started_timestamp: Option<Time>,
    /// Time at which the cluster was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_timestamp: Option<Time>,
    /// Version that was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_version: Option<String>,
    /// Power state of the machines: running, hibernating, or in transition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_state: Option<String>,
    /// Details of some platforms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub platform_status: Option<Map<String, Value>>,
    /// All other members.
    #[serde(flatten)]
    pub others: Others,
}
