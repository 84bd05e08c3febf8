//! Defines the responses of the API about a cluster.

use serde::{Deserialize, Serialize};

use super::{
    ClusterKind, ClusterNetwork, ClusterStatus, DiskEncryption, Hyperthreading, IgnitionEndpoint,
    LoadBalancer, MachineNetwork, NetworkType, OperatorBundle, Platform, ServiceNetwork, Vip,
};
use crate::host::Host;
use crate::ids::{ClusterId, HostId};
use crate::serialize::is_default;

/// A cluster as the API returns it, never with its pull secret. Lists may be `null`: the protocol's first implementation responds
/// to an import with that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Cluster {
    pub kind: ClusterKind,
    pub id: ClusterId,
    pub href: String,
    pub name: String,
    pub user_name: String,
    pub email_domain: String,
    pub status: ClusterStatus,
    pub status_info: String,
    pub status_updated_at: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub openshift_version: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub openshift_cluster_id: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub cpu_architecture: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub base_dns_domain: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub api_vip_dns_name: String,
    pub api_vips: Option<Vec<Vip>>,
    pub ingress_vips: Option<Vec<Vip>>,
    pub machine_networks: Option<Vec<MachineNetwork>>,
    pub cluster_networks: Option<Vec<ClusterNetwork>>,
    pub service_networks: Option<Vec<ServiceNetwork>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub machine_network_cidr: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster_network_cidr: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster_network_host_prefix: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub service_network_cidr: String,
    pub host_networks: Option<Vec<HostNetwork>>,
    pub platform: Platform,
    pub load_balancer: LoadBalancer,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_encryption: Option<DiskEncryption>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint: Option<IgnitionEndpoint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyperthreading: Option<Hyperthreading>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_type: Option<NetworkType>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub schedulable_masters: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_managed_networking: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vip_dhcp_allocation: Option<bool>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub control_plane_count: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub tags: String,
    pub monitored_operators: Option<Vec<MonitoredOperator>>,
    pub operator_bundles: Option<Vec<OperatorBundle>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub pull_secret_set: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ssh_public_key: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub http_proxy: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub https_proxy: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_proxy: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub additional_ntp_source: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ntp_sources: String,
    /// JSON text of a list of ids.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ignored_host_validations: String,
    /// JSON text of a list of ids.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ignored_cluster_validations: String,
    pub hosts: Vec<Host>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub total_host_count: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub enabled_host_count: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ready_host_count: i64,
    /// Always present, though it holds only dates: clients read it without a check.
    pub image_info: ImageInfo,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ClusterProgressInfo>,
    #[serde(rename = "last-installation-preparation")]
    pub last_installation_preparation: LastInstallationPreparation,
    #[serde(default, skip_serializing_if = "is_default")]
    pub imported: bool,
    pub install_started_at: String,
    /// The zero date: nothing is installed here, and clients wait for another.
    pub install_completed_at: String,
    pub controller_logs_collected_at: String,
    pub controller_logs_started_at: String,
    pub created_at: String,
    pub updated_at: String,
    /// `null` unless it is deleted.
    pub deleted_at: Option<String>,
}

/// The image of a cluster; here images belong to InfraEnvs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImageInfo {
    pub created_at: String,
    pub expires_at: String,
}

/// Progress of the installation of a new cluster; always 0 here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClusterProgressInfo {
    pub finalizing_stage_started_at: String,
}

/// Result of the preparation of the installation of a new cluster; always empty here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct LastInstallationPreparation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A network that hosts of the cluster are in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostNetwork {
    pub cidr: String,
    pub host_ids: Vec<HostId>,
}

/// An add-on that the cluster has according to a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MonitoredOperator {
    pub cluster_id: ClusterId,
    pub name: String,
    pub operator_type: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub properties: String,
}

/// Answer of `GET /v2/clusters/default-config`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClusterDefaultConfig {
    pub cluster_network_cidr: String,
    pub cluster_network_host_prefix: i64,
    pub service_network_cidr: String,
    pub cluster_networks_ipv4: Vec<ClusterNetwork>,
    pub cluster_networks_dualstack: Vec<ClusterNetwork>,
    pub service_networks_ipv4: Vec<ServiceNetwork>,
    pub service_networks_dualstack: Vec<ServiceNetwork>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub inactive_deletion_hours: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ntp_source: String,
    pub forbidden_hostnames: Vec<String>,
}
