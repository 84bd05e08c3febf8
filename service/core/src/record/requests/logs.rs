//! A request for a host's logs.

use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The last request of an operator for a host's logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedLogs {
    pub asked_at: Timestamp,
    /// `None`: the time limit for sending the logs has not passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<LogsOutcome>,
}

/// The end of a request for logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogsOutcome {
    Came,
    /// With the reason, for users.
    Failed(String),
}
