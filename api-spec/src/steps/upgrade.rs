//! `upgrade-agent`: become another version.

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpgradeAgentRequest {
    /// Image reference.
    #[serde(deserialize_with = "null_as_default")]
    pub agent_image: String,
}

/// Always with exit code 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpgradeAgentResponse {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub agent_image: String,
    /// Absent when one was running already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<UpgradeAgentResult>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpgradeAgentResult {
    Success,
    Failure,
}
