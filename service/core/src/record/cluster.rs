//! A cluster as it is stored.

use muster_api::cluster::{
    ClusterNetwork, DiskEncryption, Hyperthreading, LoadBalancerType, NetworkType, OperatorBundle,
    OperatorCreateParams, Platform,
};
use muster_api::ids::ClusterId;
use muster_api::infra_env::{CpuArchitecture, Proxy};
use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::agreed::Agreed;
use super::kube_ref::KubeRef;
use super::secret::Secret;

/// A cluster as it is remembered. `version` belongs to the store, as with hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    pub id: ClusterId,
    /// The custom resource (ClusterDeployment) that it belongs to, or that mirrors it; `None`: made by REST and not mirrored.
    pub kube: Option<KubeRef>,
    /// Made by REST, and mirrored by `kube`: what both had last. `None`: no resource, or the resource alone is the truth.
    pub mirror: Option<Agreed>,
    /// Number of writes.
    pub version: i64,
    pub created_at: Timestamp,
    /// Last effective change.
    pub updated_at: Timestamp,
    pub data: ClusterData,
}

/// The part of a cluster that is stored as one document. Empty texts mean "not set".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterData {
    /// Not unique.
    pub name: String,
    /// The id that the cluster itself has.
    pub openshift_cluster_id: String,
    /// As given by its creator; not validated.
    pub openshift_version: String,
    /// `None`: any.
    pub cpu_architecture: Option<CpuArchitecture>,
    /// Domain that the cluster's name is below.
    pub base_dns_domain: String,
    /// Name or address of its API.
    pub api_vip_dnsname: String,
    /// Registry credentials; never answered.
    pub pull_secret: Secret,
    /// One key a line.
    pub ssh_public_key: String,
    /// Of the cluster's nodes.
    pub proxy: Proxy,
    /// Comma list: asked beside those of DHCP.
    pub additional_ntp_source: String,
    /// Comma list: asked instead.
    pub ntp_sources: String,
    /// Address of the nodes' ignition; empty: the machine config server of the cluster.
    pub ignition_endpoint_url: String,
    /// PEM bundle for it.
    pub ignition_endpoint_ca: String,
    /// Networks of the machines, CIDR.
    pub machine_networks: Vec<String>,
    /// Addresses of the API.
    pub api_vips: Vec<String>,
    /// Addresses of the routers.
    pub ingress_vips: Vec<String>,
    /// Random text that the cluster's signed URLs are tied to; another text revokes them. Empty in records of earlier versions.
    #[serde(skip_serializing_if = "Secret::is_empty")]
    pub url_key: Secret,
    /// Ids of host validations that a user wants ignored.
    pub ignored_host_validations: Vec<String>,
    /// Ids of cluster validations that a user wants ignored; remembered, for none is made here.
    pub ignored_cluster_validations: Vec<String>,
    pub traits: ClusterTraits,
}

impl ClusterData {
    /// Forgets what nobody needs of a cluster that is deleted.
    pub fn forget_secrets(&mut self) {
        self.pull_secret = Secret::default();
        self.url_key = Secret::default();
        self.proxy = Proxy::default();
    }
}

impl Cluster {
    /// True when a custom resource is the truth about it. A mirrored one is REST's.
    pub fn belongs_to_resource(&self) -> bool {
        self.kube.is_some() && self.mirror.is_none()
    }

    /// True for a cluster whose control plane is one host.
    pub fn is_single_node(&self) -> bool {
        self.data.traits.control_plane_count == 1
    }
}

/// Description of the cluster by a user. Hosts that are added take these settings from the cluster itself; here they are stored,
/// answered, and read by checks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "field names are the protocol's")]
pub struct ClusterTraits {
    pub cluster_networks: Vec<ClusterNetwork>,
    /// CIDR.
    pub service_networks: Vec<String>,
    /// `None` means bare metal.
    pub platform: Option<Platform>,
    pub load_balancer: LoadBalancerType,
    pub disk_encryption: DiskEncryption,
    pub hyperthreading: Option<Hyperthreading>,
    pub network_type: Option<NetworkType>,
    pub schedulable_masters: bool,
    pub user_managed_networking: Option<bool>,
    pub vip_dhcp_allocation: Option<bool>,
    pub control_plane_count: i64,
    pub tags: String,
    pub olm_operators: Vec<OperatorCreateParams>,
    pub operator_bundles: Vec<OperatorBundle>,
}
