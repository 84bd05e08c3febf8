//! Clusters that hosts are added to: what is remembered of one.

pub mod setup;

use muster_api::ids::ClusterId;
use muster_api::infra_env::{CpuArchitecture, Proxy};
use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

pub use setup::ClusterSetup;

use crate::secret::Secret;

/// A cluster as it is remembered. `version` belongs to the store, as with hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// Its id.
    pub id: ClusterId,
    /// Number of writes so far.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// Last effective change.
    pub updated_at: Timestamp,
    /// Everything else.
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
    /// As its maker said; taken as it is.
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
    /// Where nodes take their ignition from; empty: the machine config server of the cluster.
    pub ignition_endpoint_url: String,
    /// PEM bundle for it.
    pub ignition_endpoint_ca: String,
    /// Networks of the machines, CIDR.
    pub machine_networks: Vec<String>,
    /// Addresses of the API.
    pub api_vips: Vec<String>,
    /// Addresses of the routers.
    pub ingress_vips: Vec<String>,
    /// Ids of host validations that a user wants ignored.
    pub ignored_host_validations: Vec<String>,
    /// What checks need to know beside that.
    pub setup: ClusterSetup,
}
