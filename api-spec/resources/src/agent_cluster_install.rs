//! Defines AgentClusterInstalls: settings of a cluster of Agents that is to be installed, or exists already (docs/protocol/kube-controllers.md#6).

pub mod machine_pool;
pub mod networking;
pub mod platform;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    HiveCondition, LocalReference, NameReference, NamespacedReference, Proxy, ValidationsInfo, schema,
};
use machine_pool::{DiskEncryption, MachinePool};
use networking::{MachineNetwork, Networking};
use platform::{ExternalPlatform, PlatformType};

/// The cluster that is wanted.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "extensions.hive.openshift.io",
    version = "v1beta1",
    kind = "AgentClusterInstall",
    plural = "agentclusterinstalls",
    shortname = "aci",
    namespaced,
    status = "AgentClusterInstallStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "What the ClusterDeployment that names it needs to be installed on Agents; for a cluster that is installed already, what Agents need to join it.",
    printcolumn(
        name = "Cluster",
        json_path = ".spec.clusterDeploymentRef.name",
        type_ = "string"
    ),
    printcolumn(name = "State", json_path = ".status.debugInfo.state", type_ = "string")
)]
pub struct AgentClusterInstallSpec {
    /// The ClusterDeployment in the same namespace that this belongs to.
    pub cluster_deployment_ref: LocalReference,
    /// The release to install: a ClusterImageSet. Not needed for a cluster that exists. Cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_set_ref: Option<NameReference>,
    /// Ids and credentials of the installed cluster; given by the user for a cluster that others installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_metadata: Option<ClusterMetadata>,
    /// ConfigMap in the same namespace with manifests to apply. `manifestsConfigMapRefs` is preferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifests_config_map_ref: Option<LocalReference>,
    /// ConfigMaps in the same namespace with manifests to apply. A file name may occur once only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests_config_map_refs: Vec<NameReference>,
    /// Networks of the cluster.
    pub networking: Networking,
    /// Public SSH keys, one a line, that may log in to the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_public_key: Option<String>,
    /// Number of hosts of each role that the cluster consists of.
    pub provision_requirements: ProvisionRequirements,
    /// Settings of control-plane nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<MachinePool>,
    /// Settings of arbiter nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<MachinePool>,
    /// Settings of worker nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compute: Vec<MachinePool>,
    /// Address of the API. `apiVIPs` is preferred.
    #[serde(rename = "apiVIP", skip_serializing_if = "Option::is_none")]
    pub api_vip: Option<String>,
    /// Addresses of the API: one, or one of each IP family.
    #[serde(rename = "apiVIPs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2))]
    pub api_vips: Vec<String>,
    /// Address of the ingress. `ingressVIPs` is preferred.
    #[serde(rename = "ingressVIP", skip_serializing_if = "Option::is_none")]
    pub ingress_vip: Option<String>,
    /// Addresses of the ingress: one, or one of each IP family.
    #[serde(rename = "ingressVIPs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2))]
    pub ingress_vips: Vec<String>,
    /// Time servers of the nodes: names or addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ntp_sources: Vec<String>,
    /// Do not begin the installation, even when everything is ready. Hosts that join an installed cluster are not held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_installation: Option<bool>,
    /// Source of the hosts' Ignition, when not the cluster's machine config server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint: Option<IgnitionEndpoint>,
    /// Encryption of the disks that are installed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_encryption: Option<DiskEncryption>,
    /// Proxy of the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Platform of the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_type: Option<PlatformType>,
    /// Details of the platform `External`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalPlatform>,
    /// True when control-plane nodes also run the workloads of workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masters_schedulable: Option<bool>,
    /// ConfigMap with registries to be used in place of others: `registries.conf`, and `ca-bundle.crt` for their certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_registry_ref: Option<NamespacedReference>,
    /// Load balancer in front of the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
}

/// Number of hosts of each role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProvisionRequirements {
    /// Number of control-plane hosts: 1, or 3 to 5.
    #[schemars(schema_with = "schema::integer")]
    pub control_plane_agents: i64,
    /// Number of arbiters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer_from_zero")]
    pub arbiter_agents: Option<i64>,
    /// Number of workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer_from_zero")]
    pub worker_agents: Option<i64>,
}

/// Ids and credentials of an installed cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterMetadata {
    /// The cluster's id for the world outside.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    /// Id that names of the cluster's infrastructure begin with.
    #[serde(rename = "infraID")]
    pub infra_id: String,
    /// Secret with the administrator's kubeconfig, under the key `kubeconfig`.
    pub admin_kubeconfig_secret_ref: LocalReference,
    /// Secret with the administrator's `username` and `password`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_password_secret_ref: Option<LocalReference>,
    /// Secret with the installer's own notes (`metadata.json`).
    #[serde(rename = "metadataJSONSecretRef", skip_serializing_if = "Option::is_none")]
    pub metadata_json_secret_ref: Option<LocalReference>,
    /// Details that only clouds need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<ClusterMetadataPlatform>,
}

/// Details that only clouds need. Not used for clusters of Agents; kept as written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterMetadataPlatform {
    /// Amazon Web Services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<platform::AwsMetadata>,
    /// Azure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<platform::AzureMetadata>,
    /// Google Cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcp: Option<platform::GcpMetadata>,
}

/// Source of the hosts' Ignition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IgnitionEndpoint {
    /// URL without the name of the MachineConfigPool at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Secret with the certificate that the endpoint's own is checked against, under the key `tls.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_certificate_reference: Option<NamespacedReference>,
}

/// Load balancer in front of the nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadBalancer {
    /// `ClusterManaged` when the cluster does it itself, `UserManaged` when something outside does.
    #[serde(rename = "type", default)]
    pub type_: LoadBalancerType,
}

/// Owner of the load balancer in front of the nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LoadBalancerType {
    /// The cluster.
    #[default]
    ClusterManaged,
    /// Something outside the cluster.
    UserManaged,
}

/// Observed state of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentClusterInstallStatus {
    /// `SpecSynced`, `RequirementsMet`, `Validated`, `Completed`, `Failed`, `Stopped`, `LastInstallationPreparationFailed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<HiveCondition>,
    /// Number of control-plane hosts that are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub control_plane_agents_discovered: Option<i64>,
    /// Number of control-plane hosts that can be installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub control_plane_agents_ready: Option<i64>,
    /// Number of workers that are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub worker_agents_discovered: Option<i64>,
    /// Number of workers that can be installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub worker_agents_ready: Option<i64>,
    /// Groups of hosts that reach each other, by network, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connectivity_majority_groups: Option<String>,
    /// The networks that the hosts are in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine_network: Vec<MachineNetwork>,
    /// The cluster's state, and URLs for troubleshooting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_info: Option<AgentClusterInstallDebugInfo>,
    /// First address of the API.
    #[serde(rename = "apiVIP", skip_serializing_if = "Option::is_none")]
    pub api_vip: Option<String>,
    /// Addresses of the API.
    #[serde(rename = "apiVIPs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2))]
    pub api_vips: Vec<String>,
    /// First address of the ingress.
    #[serde(rename = "ingressVIP", skip_serializing_if = "Option::is_none")]
    pub ingress_vip: Option<String>,
    /// Addresses of the ingress.
    #[serde(rename = "ingressVIPs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2))]
    pub ingress_vips: Vec<String>,
    /// True when load balancers and DNS of the cluster are managed outside of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_managed_networking: Option<bool>,
    /// Platform of the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_type: Option<PlatformType>,
    /// Progress of the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ClusterProgress>,
    /// Results of all validations, by category.
    #[serde(default, skip_serializing_if = "ValidationsInfo::is_empty")]
    pub validations_info: ValidationsInfo,
}

/// Progress of the installation of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterProgress {
    /// Percentage that is done, 0 to 100.
    pub total_percentage: i64,
}

/// The cluster's state, and URLs for troubleshooting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentClusterInstallDebugInfo {
    /// URL of the events of the cluster (JSON).
    #[serde(rename = "eventsURL", skip_serializing_if = "Option::is_none")]
    pub events_url: Option<String>,
    /// URL of the cluster's logs; empty while there are none.
    #[serde(rename = "logsURL", skip_serializing_if = "Option::is_none")]
    pub logs_url: Option<String>,
    /// State of the cluster, such as `adding-hosts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Reason for the state, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_info: Option<String>,
}
