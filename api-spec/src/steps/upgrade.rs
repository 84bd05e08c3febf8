//! `upgrade-agent`: become another version.

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpgradeAgentRequest {
    /// Image reference.
    #[serde(deserialize_with = "null_as_default")]
    pub agent_image: String,
    /// An addition: the program to replace the agent with, for agents that sent their own ([`crate::agent::AGENT_BUILD_HEADER`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<AgentProgram>,
}

/// A program of our agent, which the service holds for download.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentProgram {
    /// SHA-256 of the program, hexadecimal.
    pub sha256: String,
    /// Bytes of the program.
    pub size: u64,
    /// Bytes of the download: one frame of zstd with a newc archive that holds the program as `init`; then zeros, perhaps.
    pub packed_size: u64,
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
    /// An addition: the reason of a failure.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpgradeAgentResult {
    Success,
    Failure,
}
