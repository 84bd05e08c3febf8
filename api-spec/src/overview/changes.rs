//! Defines the records of the stream of changes, an addition to the protocol.

use serde::{Deserialize, Serialize};

use crate::ids::InfraEnvId;

/// A record that was changed, created or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangedRecord {
    pub kind: ChangedKind,
    pub id: String,
    /// Of a host and of an InfraEnv; of a job that one InfraEnv's token requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infra_env_id: Option<InfraEnvId>,
}

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChangedKind {
    Host,
    InfraEnv,
    Cluster,
    Bmc,
    /// A job over many hosts: its counts or its state are others.
    Job,
}
