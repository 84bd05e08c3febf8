//! Plans of jobs.

use serde::{Deserialize, Serialize};

use crate::ids::{HostId, InfraEnvId};
use crate::serialize::is_default;

/// The effect that a job would have on the hosts of a selection, at the time of the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobPlan {
    /// Number of hosts of the selection.
    pub total: u64,
    /// Hosts that it would change.
    pub will_change: u64,
    /// Hosts that are so already.
    pub already: u64,
    /// Hosts for which it would be refused, by reason: names that are taken or invalid first, then the most frequent reasons.
    pub refused: Vec<JobRefusal>,
    /// Names and disks of the first hosts that would change.
    #[serde(default)]
    pub previews: Vec<JobPreview>,
    /// For `digest` of the request that begins the job.
    pub digest: String,
    /// For `confirm` of that request, typed by a person; absent: not required.
    #[serde(default, skip_serializing_if = "is_default")]
    pub confirmation: Option<u64>,
}

/// Hosts for which an action is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobRefusal {
    pub reason: String,
    pub count: u64,
    /// The first of them; at most 20.
    pub examples: Vec<JobHost>,
}

/// A host of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobHost {
    pub id: HostId,
    pub infra_env_id: InfraEnvId,
    /// Name of the InfraEnv.
    pub pool: String,
    /// As in lists of hosts, when the job was made.
    pub name: String,
}

/// A change of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobPreview {
    pub host: JobHost,
    /// Empty: none.
    pub from: String,
    pub to: String,
}
