//! Defines the settings of a cluster that a user sends.

use serde::{Deserialize, Serialize};

use crate::ids::ClusterId;

/// Body of `POST /v2/clusters/import`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ImportClusterParams {
    pub name: String,
    /// Name or address of its API. `api.<name>.<domain>` gives the cluster that name and base domain.
    pub api_vip_dnsname: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openshift_version: Option<String>,
    /// The id that the cluster itself has.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "uuid"))]
    pub openshift_cluster_id: uuid::Uuid,
}

/// Body of `PATCH /v2/clusters/{id}`. Absent and `null` leave a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ClusterUpdateParams {
    pub name: Option<String>,
    pub base_dns_domain: Option<String>,
    pub api_vip_dns_name: Option<String>,
    pub pull_secret: Option<String>,
    pub ssh_public_key: Option<String>,
    pub http_proxy: Option<String>,
    pub https_proxy: Option<String>,
    pub no_proxy: Option<String>,
    pub additional_ntp_source: Option<String>,
    pub ntp_sources: Option<String>,
    pub ignition_endpoint: Option<IgnitionEndpoint>,
    pub machine_network_cidr: Option<String>,
    pub machine_networks: Option<Vec<MachineNetwork>>,
    pub cluster_network_cidr: Option<String>,
    pub cluster_network_host_prefix: Option<i64>,
    pub cluster_networks: Option<Vec<ClusterNetwork>>,
    pub service_network_cidr: Option<String>,
    pub service_networks: Option<Vec<ServiceNetwork>>,
    pub api_vips: Option<Vec<Vip>>,
    pub ingress_vips: Option<Vec<Vip>>,
    pub platform: Option<Platform>,
    pub load_balancer: Option<LoadBalancer>,
    pub disk_encryption: Option<DiskEncryption>,
    pub hyperthreading: Option<Hyperthreading>,
    pub network_type: Option<NetworkType>,
    pub schedulable_masters: Option<bool>,
    pub user_managed_networking: Option<bool>,
    pub vip_dhcp_allocation: Option<bool>,
    pub control_plane_count: Option<i64>,
    pub tags: Option<String>,
    pub olm_operators: Option<Vec<OperatorCreateParams>>,
    pub operator_bundles: Option<Vec<OperatorBundle>>,
}

/// Source of the nodes' Ignition, in place of the machine config server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct IgnitionEndpoint {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// PEM certificates, as base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_certificate: Option<String>,
}

/// A network of the machines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct MachineNetwork {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cidr: Option<String>,
}

/// A network of the pods.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ClusterNetwork {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cidr: Option<String>,
    /// Length of the prefix of each node's part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_prefix: Option<i64>,
}

/// A network of the services.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ServiceNetwork {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cidr: Option<String>,
}

/// An address of the API or of the routers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Vip {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// `unverified`, `failed` or `succeeded`; what a client sends is ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Platform {
    #[serde(rename = "type")]
    pub platform_type: PlatformType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<PlatformExternal>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum PlatformType {
    #[default]
    Baremetal,
    Nutanix,
    Vsphere,
    None,
    External,
}

/// A platform that the cluster's software does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct PlatformExternal {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_controller_manager: Option<String>,
}

/// Owner of the load balancer of the API.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct LoadBalancer {
    /// Absent means `cluster-managed`.
    #[serde(rename = "type")]
    pub balancer_type: LoadBalancerType,
}

/// Owner of the load balancer of the API.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LoadBalancerType {
    #[default]
    ClusterManaged,
    UserManaged,
}

/// Encryption of disks, by role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct DiskEncryption {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_on: Option<Hyperthreading>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<DiskEncryptionMode>,
    /// JSON text of a list of `{url, thumbprint}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tang_servers: Option<String>,
}

/// The place of the key of an encrypted disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum DiskEncryptionMode {
    Tpmv2,
    Tang,
}

/// The roles of the hosts that a setting applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Hyperthreading {
    #[serde(rename = "none")]
    None,
    #[serde(rename = "masters")]
    Masters,
    #[serde(rename = "arbiters")]
    Arbiters,
    #[serde(rename = "workers")]
    Workers,
    #[serde(rename = "masters,arbiters")]
    MastersArbiters,
    #[serde(rename = "masters,workers")]
    MastersWorkers,
    #[serde(rename = "arbiters,workers")]
    ArbitersWorkers,
    #[serde(rename = "masters,arbiters,workers")]
    MastersArbitersWorkers,
    #[serde(rename = "all")]
    All,
}

/// The cluster's network software.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum NetworkType {
    #[serde(rename = "OpenShiftSDN")]
    OpenShiftSdn,
    #[serde(rename = "OVNKubernetes")]
    OvnKubernetes,
    #[serde(rename = "CiscoACI")]
    CiscoAci,
    Cilium,
    Calico,
    None,
}

/// An add-on of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct OperatorCreateParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<String>,
}

/// Add-ons that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OperatorBundle {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional_operators: Option<Vec<String>>,
}
