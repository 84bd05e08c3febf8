//! Defines jobs: one action on many hosts, with a plan before it and a result for each host. An addition to the protocol.

mod action;
mod plan;

pub use action::{DiskRule, JobAction, JobPower};
pub use plan::{JobHost, JobPlan, JobPreview, JobRefusal};

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::ids::{HostId, JobId};
use crate::serialize::is_default;

/// Hosts of one job at most.
pub const MAX_JOB_HOSTS: usize = 20_000;

/// An action, and the hosts that it concerns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    pub action: JobAction,
    pub selection: HostSelection,
    /// Nothing is changed: the answer is the plan.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dry_run: bool,
    /// As in the plan. The request is refused if the hosts, or what the action does with one of them, are others since. Left out: not compared.
    #[serde(default, skip_serializing_if = "is_default")]
    pub digest: Option<String>,
    /// The number that a person typed, where the plan has `confirmation`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub confirm: Option<u64>,
}

/// A choice of hosts: those that fit `query`, without `except`, and those of `ids`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct HostSelection {
    /// As in searches of hosts; empty: all that the caller may see. Left out: `ids` alone.
    #[serde(skip_serializing_if = "is_default")]
    pub query: Option<String>,
    /// As in searches of hosts; empty: by name. The order of `{n}` in names.
    #[serde(skip_serializing_if = "is_default")]
    pub sort: String,
    #[serde(skip_serializing_if = "is_default")]
    pub except: Vec<HostId>,
    /// Those that are gone are passed over.
    #[serde(skip_serializing_if = "is_default")]
    pub ids: Vec<HostId>,
}

/// Body of the request that begins a job again for the hosts that failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct JobRetryParams {
    /// The number that a person typed, where the action requires one: hosts that it would change now.
    #[serde(skip_serializing_if = "is_default")]
    pub confirm: Option<u64>,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Job {
    pub id: JobId,
    pub action: JobAction,
    pub state: JobState,
    /// Of a job that stopped: why, such as `token revoked`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reason: String,
    /// Name of the token by which it was requested; absent: the service requires no tokens.
    #[serde(default, skip_serializing_if = "is_default")]
    pub requested_by: Option<String>,
    /// Id of that token.
    #[serde(default, skip_serializing_if = "is_default")]
    pub token_id: Option<String>,
    /// RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// RFC 3339 with milliseconds; absent: it runs.
    #[serde(default, skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub ended_at: Option<String>,
    /// The job whose failed hosts these are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retry_of: Option<JobId>,
    pub counts: JobCounts,
    /// A part of the hosts with their results, in the order of the job; none in lists of jobs.
    #[serde(default)]
    pub results: Vec<JobResult>,
    /// For `after`, to get the next part; absent with the last.
    #[serde(default, skip_serializing_if = "is_default")]
    pub next: Option<String>,
}

/// Numbers of hosts of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobCounts {
    pub total: u64,
    /// Those with a result: `changed`, `already` and `failed` together.
    pub done: u64,
    pub changed: u64,
    /// They were so already.
    pub already: u64,
    /// The action was refused for them.
    pub failed: u64,
}

/// Jobs, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Jobs {
    pub jobs: Vec<Job>,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum JobState {
    Running,
    /// Each host has a result.
    Finished,
    /// Somebody ended it; hosts that it had not begun with are as they were.
    Cancelled,
    /// See the reason; hosts that it had not begun with are as they were.
    Stopped,
}

impl JobState {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The result of a job for a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobResult {
    pub host: JobHost,
    pub outcome: JobOutcome,
    /// The reason of a refusal.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reason: String,
    /// RFC 3339 with milliseconds; absent: it has no result yet.
    #[serde(default, skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub at: Option<String>,
}

/// The outcome of a job for a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum JobOutcome {
    /// It has no result yet.
    Pending,
    Changed,
    /// It was so already.
    Already,
    /// See the reason.
    Refused,
}

impl JobOutcome {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
