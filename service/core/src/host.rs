//! Hosts: what is remembered of one, and what can become of it.

pub mod state;

use muster_api::host::{HostKind, HostRole, MediaStatus};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::inventory::Inventory;
use muster_api::steps::NtpSource;
use muster_api::time::Timestamp;
use muster_api::validation::ValidationsInfo;
use serde::{Deserialize, Serialize};

pub use state::HostState;

use crate::secret::Secret;

/// A host as it is remembered. The key is (`id`, `infra_env_id`): one machine booted into two InfraEnvs is two records.
///
/// `version` belongs to the store: it counts the writes of the record, and a write succeeds only on the version that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Computed by the agent.
    pub id: HostId,
    /// The pool it registered in.
    pub infra_env_id: InfraEnvId,
    /// The cluster it is bound to.
    pub cluster_id: Option<ClusterId>,
    /// Where it stands.
    pub state: HostState,
    /// Number of writes so far.
    pub version: i64,
    /// When something must be looked at again even if nobody speaks; `None` when nothing waits for time.
    pub due_at: Option<Timestamp>,
    /// Last poll that has been written down; the check-ins in memory may be newer.
    pub checked_in_at: Timestamp,
    /// What the host reports of itself; `None` until the first good report.
    pub inventory: Option<Inventory>,
    /// Everything else.
    pub data: HostData,
}

/// The part of a host that is stored as one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostData {
    /// Day-1 or day-2 record.
    #[serde(default)]
    pub kind: HostKind,
    /// Why it is where it is, for people; at most 2040 bytes.
    pub status_info: String,
    /// When the status last changed.
    pub status_updated_at: Timestamp,
    /// First registration.
    pub created_at: Timestamp,
    /// Last change of anything.
    pub updated_at: Timestamp,
    /// Last registration.
    pub registered_at: Timestamp,
    /// As the agent told it.
    #[serde(default)]
    pub discovery_agent_version: String,
    /// A user's choice of name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_hostname: Option<String>,
    /// A user's choice of role.
    #[serde(default)]
    pub role: HostRole,
    /// The service's suggestion.
    #[serde(default)]
    pub suggested_role: HostRole,
    /// `disk.id` of the disk to install to.
    #[serde(default)]
    pub installation_disk_id: String,
    /// Its `/dev` name.
    #[serde(default)]
    pub installation_disk_path: String,
    /// Ids of disks that an installation would format.
    #[serde(default)]
    pub disks_to_be_formatted: Vec<String>,
    /// Ids of disks that a user wants left alone.
    #[serde(default)]
    pub skip_formatting_disks: Vec<String>,
    /// As the host sees its time sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ntp_sources: Option<Vec<NtpSource>>,
    /// The host's clock at its last written poll, seconds since 1970; 0 when never told.
    #[serde(default)]
    pub timestamp: i64,
    /// Whether the boot medium can be read; `None` when never told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_status: Option<MediaStatus>,
    /// Outcomes of all checks.
    #[serde(default)]
    pub validations: ValidationsInfo,
    /// Labels for the node, in the order given.
    #[serde(default)]
    pub node_labels: Vec<(String, String)>,
    /// Pool of the machine config server that the host takes its ignition from.
    #[serde(default)]
    pub machine_config_pool_name: String,
    /// Bearer token for the ignition endpoint.
    #[serde(default)]
    pub ignition_endpoint_token: Secret,
    /// Headers for the ignition endpoint.
    #[serde(default)]
    pub ignition_endpoint_http_headers: Vec<(String, String)>,
}
