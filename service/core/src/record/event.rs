//! Events for users. Names and severities follow docs/protocol/events.tsv; wording is ours.

pub mod limits;

use std::borrow::Cow;

use muster_api::event::{Category, Severity};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use serde_json::{Map, Value};

/// Longest message, bytes.
pub const MAX_MESSAGE: usize = 4096;

/// An event to be stored together with the change that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// As in docs/protocol/events.tsv, or our own (`muster_...`).
    pub name: Cow<'static, str>,
    pub severity: Severity,
    pub category: Category,
    /// For users; at most [`MAX_MESSAGE`] bytes.
    pub message: String,
    /// Machine-readable facts; may be empty.
    pub props: Map<String, Value>,
    pub host_id: Option<HostId>,
    pub infra_env_id: Option<InfraEnvId>,
    pub cluster_id: Option<ClusterId>,
    /// Time of the change.
    pub at: Timestamp,
}
