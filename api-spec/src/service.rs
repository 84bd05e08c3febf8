//! How the service is, and the operators' tokens with their sessions. An addition to the protocol.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::InfraEnvId;

/// The service, as one of its replicas sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Service {
    /// Of the replica that responds.
    pub version: String,
    /// Of the agent that machines are given.
    pub agent_version: String,
    /// The present time of the service, RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub at: String,
    /// By id; on SQLite also those that ran before, until they are given up.
    pub replicas: Vec<ReplicaState>,
    pub database: DatabaseState,
    /// Controllers of custom resources, and which replica leads them.
    pub kubernetes: String,
    /// Work that no request causes: `ok`, or which of it hangs.
    pub jobs: String,
    pub live_image: String,
    /// CoreOS images of the operator's list, by version and architecture.
    pub coreos_images: BTreeMap<String, String>,
    pub backlog: Backlog,
}

/// A replica of the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReplicaState {
    /// Beginning of the replica's id, which is another one after each start.
    pub id: String,
    /// The last time at which it could receive requests and write, RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub seen_at: String,
    /// It was stopped in order.
    pub has_left: bool,
    /// The replica that responds.
    pub is_this: bool,
}

/// The database.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DatabaseState {
    /// `sqlite` or `postgres`.
    pub kind: String,
    /// Of everything in it.
    pub bytes: i64,
    /// Of the logs of hosts among it.
    pub log_bytes: i64,
}

/// What was stored and is still to be worked on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Backlog {
    /// Changed records whose effects are to come.
    pub changes: i64,
    /// When the oldest of these changes was stored, RFC 3339 with milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub oldest_change_at: Option<String>,
    /// Entries of the audit that this replica has not written yet.
    pub audit_entries: usize,
}

/// An operator's token that was made, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OperatorTokenState {
    pub id: String,
    /// Who uses it.
    pub name: String,
    /// `good`, `expired` or `revoked`.
    pub state: String,
    /// It changes nothing.
    pub read_only: bool,
    /// The InfraEnv that alone is open to it; left out: everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infra_env_id: Option<InfraEnvId>,
    /// RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// RFC 3339 with milliseconds; left out: when it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub expires_at: Option<String>,
    /// RFC 3339 with milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub revoked_at: Option<String>,
    /// Those in force, oldest first.
    pub sessions: Vec<OperatorSessionState>,
}

/// A session of an operator's token in a browser, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OperatorSessionState {
    pub id: String,
    /// RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub expires_at: String,
}
