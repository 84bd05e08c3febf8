//! The answer to a request to reboot the host of an Agent: the value of the annotation [`AGENT_REBOOT`], JSON text. Specific to Muster.
//!
//! [`AGENT_REBOOT`]: crate::names::annotation::AGENT_REBOOT

use serde::{Deserialize, Serialize};

/// The last request to reboot a host, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReboot {
    /// Time of the request, RFC 3339; a text that is no time is shown as it was given.
    pub requested: String,
    /// The way in which the host is rebooted, such as `BMC r1u7`; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    pub outcome: AgentRebootOutcome,
    /// The reason of a failure or refusal, for users: the end of a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// State of a request to reboot a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentRebootOutcome {
    /// It is being carried out.
    Pending,
    /// The host reboots.
    Done,
    /// It was tried, and another request may succeed.
    Failed,
    /// Nothing can reboot the host, or nothing may.
    Refused,
}
