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

/// A cluster as it is stored. `version` belongs to the store, as with hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    pub id: ClusterId,
    /// The custom resource (ClusterDeployment) that owns or mirrors it; `None`: created by REST and not mirrored.
    pub kube: Option<KubeRef>,
    /// Last common state of a cluster that was created by REST and `kube`, which mirrors it. `None`: no resource, or
    /// the resource is authoritative.
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
    /// Registry credentials; never returned.
    pub pull_secret: Secret,
    /// One key a line.
    pub ssh_public_key: String,
    /// Of the cluster's nodes.
    pub proxy: Proxy,
    /// Comma list of servers, used in addition to those of DHCP.
    pub additional_ntp_source: String,
    /// Comma list of servers, used instead.
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
    /// Random text to which the cluster's signed URLs are tied; another text revokes them. Empty in records of earlier
    /// versions.
    #[serde(skip_serializing_if = "Secret::is_empty")]
    pub url_key: Secret,
    /// Ids of host validations to ignore, a user's choice.
    pub ignored_host_validations: Vec<String>,
    /// Ids of cluster validations to ignore; only stored, since this service has no cluster
    /// validations.
    pub ignored_cluster_validations: Vec<String>,
    pub traits: ClusterTraits,
    /// A text that user interfaces store with the cluster; the service does not interpret it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ui_settings: String,
}

impl ClusterData {
    /// Name and base domain, below which its API and its routes are; `None` when the base domain is not known.
    pub fn domain(&self) -> Option<String> {
        (!self.base_dns_domain.is_empty()).then(|| format!("{}.{}", self.name, self.base_dns_domain))
    }

    /// Clears the secrets, which a deleted cluster does not need.
    pub fn forget_secrets(&mut self) {
        self.pull_secret = Secret::default();
        self.url_key = Secret::default();
        self.proxy = Proxy::default();
    }
}

impl Cluster {
    /// True if a custom resource is authoritative for it. For a mirrored one REST is.
    pub fn belongs_to_resource(&self) -> bool {
        self.kube.is_some() && self.mirror.is_none()
    }

    /// True for a cluster whose control plane is one host.
    pub fn is_single_node(&self) -> bool {
        self.data.traits.control_plane_count == 1
    }
}

/// Description of the cluster by a user. Hosts that are added take these settings from the cluster itself; here they
/// are stored, returned, and read by checks.
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
