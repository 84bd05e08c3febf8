//! An InfraEnv as it is stored.

use std::fmt;

use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::infra_env::{
    Cleaning, CpuArchitecture, HostStaticNetworkConfig, ImageType, KernelArgument, Proxy,
};
use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::agreed::Agreed;
use super::kube_ref::KubeRef;
use super::secret::Secret;

/// An InfraEnv as it is stored. `version` belongs to the store, as with hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct InfraEnv {
    pub id: InfraEnvId,
    /// Not unique.
    pub name: String,
    /// The cluster that its hosts are bound to from the start.
    pub cluster_id: Option<ClusterId>,
    /// The custom resource that owns or mirrors it; `None`: created by REST and not mirrored.
    pub kube: Option<KubeRef>,
    /// Last common state of an InfraEnv that was created by REST and `kube`, which mirrors it. `None`: no resource, or
    /// the resource is authoritative.
    pub mirror: Option<Agreed>,
    /// The random part of `/boot/<id>/...` URLs: 22 letters and digits. Replaced to revoke them.
    pub boot_id: String,
    /// Number of writes.
    pub version: i64,
    pub created_at: Timestamp,
    /// Last effective change; `Last-Modified` of its images.
    pub updated_at: Timestamp,
    pub settings: Settings,
}

impl InfraEnv {
    /// True if a custom resource is authoritative for it, and controllers decide about its hosts. For a mirrored one
    /// REST is.
    pub fn belongs_to_resource(&self) -> bool {
        self.kube.is_some() && self.mirror.is_none()
    }

    /// True when `next` differs in nothing that its images have: only in the custom resource that it belongs to or is offered to, in the
    /// erasure of disks, or in the sleep of hosts.
    pub fn is_only_linked(&self, next: &Self) -> bool {
        let linked = Self {
            kube: next.kube.clone(),
            mirror: next.mirror.clone(),
            updated_at: next.updated_at,
            settings: Settings {
                offered_to: next.settings.offered_to.clone(),
                cleaning: next.settings.cleaning,
                idle_after: next.settings.idle_after.clone(),
                warm_spares: next.settings.warm_spares,
                quiet_hours: next.settings.quiet_hours.clone(),
                ..self.settings.clone()
            },
            ..self.clone()
        };
        linked == *next
    }

    /// The user's kernel arguments for the discovery image, in order.
    pub fn kernel_arguments(&self) -> Vec<String> {
        let arguments = self.settings.kernel_arguments.iter().flatten();
        arguments.map(|argument| argument.value.clone()).collect()
    }

    /// The time sources for hosts, as a comma list: `ntp_sources`, else `additional_ntp_sources`.
    pub fn ntp_source_list(&self) -> &str {
        let settings = &self.settings;
        if settings.ntp_sources.is_empty() {
            &settings.additional_ntp_sources
        } else {
            &settings.ntp_sources
        }
    }
}

/// The settings of an InfraEnv, stored as one document. Empty texts mean "not set".
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub image_type: ImageType,
    /// `aarch64` is stored as `arm64`.
    pub cpu_architecture: CpuArchitecture,
    /// As the client sent it.
    pub openshift_version: String,
    /// Registry credentials; never on the image, never returned.
    pub pull_secret: Secret,
    /// One key a line.
    pub ssh_authorized_key: String,
    /// For discovered hosts.
    pub proxy: Proxy,
    /// Comma list of servers, used in addition to those of DHCP.
    pub additional_ntp_sources: String,
    /// Comma list of servers, used instead.
    pub ntp_sources: String,
    /// `None`: never set; empty: cleared.
    pub kernel_arguments: Option<Vec<KernelArgument>>,
    /// Ignition JSON that is merged over `discovery.ign`.
    pub ignition_config_override: String,
    /// nmstate per host.
    pub static_network_config: Vec<HostStaticNetworkConfig>,
    /// PEM certificates.
    pub additional_trust_bundle: String,
    /// Only with disconnected ISOs.
    pub rendezvous_ip: String,
    /// Seconds.
    pub network_discovery_delay_seconds: Option<i64>,
    /// Hosts register with a key of their own, or not at all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub require_host_keys: bool,
    /// Erasure of the disks of hosts that leave a cluster.
    pub cleaning: Cleaning,
    /// Hosts that no machine took for so long are switched off by their BMCs: `30m`. Empty: none is.
    pub idle_after: String,
    /// Hosts that are kept awake for machines to come.
    pub warm_spares: Option<i64>,
    /// A part of each day, UTC, in which there are no warm spares: `20:00-06:00`. Empty: there are always.
    pub quiet_hours: String,
    /// Tokens of agents that were made for an earlier generation are refused.
    #[serde(skip_serializing_if = "is_first")]
    pub token_generation: u32,
    /// The custom resource that may take the InfraEnv over, by REST's word. `None` once it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_to: Option<KubeRef>,
}

fn is_first(generation: &u32) -> bool {
    *generation == 0
}

/// Prints only fields that cannot hold a password: proxies and overrides can.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("image_type", &self.image_type)
            .field("cpu_architecture", &self.cpu_architecture)
            .field("openshift_version", &self.openshift_version)
            .field("ntp_sources", &self.ntp_sources)
            .field("additional_ntp_sources", &self.additional_ntp_sources)
            .field("kernel_arguments", &self.kernel_arguments)
            .field("idle_after", &self.idle_after)
            .field("warm_spares", &self.warm_spares)
            .field("quiet_hours", &self.quiet_hours)
            .field("static_network_config", &self.static_network_config.len())
            .finish_non_exhaustive()
    }
}
