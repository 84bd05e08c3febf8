//! What is told to users about a change. Names and severities follow docs/protocol/events.tsv; wording is ours.

use std::borrow::Cow;

use muster_api::event::{Category, Severity};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use serde_json::{Map, Value};

/// Longest message, bytes.
pub const MAX_MESSAGE: usize = 4096;

/// An event to be stored together with the change that it tells of.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// As in docs/protocol/events.tsv, or our own (`muster_...`).
    pub name: Cow<'static, str>,
    /// How much it matters.
    pub severity: Severity,
    /// Who it is for.
    pub category: Category,
    /// For people; at most 4096 bytes.
    pub message: String,
    /// Machine-readable facts; empty means none.
    pub props: Map<String, Value>,
    /// The host that it is about.
    pub host_id: Option<HostId>,
    /// The InfraEnv that it is about.
    pub infra_env_id: Option<InfraEnvId>,
    /// The cluster that it is about.
    pub cluster_id: Option<ClusterId>,
    /// When it happened.
    pub at: Timestamp,
}
