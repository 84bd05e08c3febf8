//! A request to reboot an installed host.

use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The last request to reboot a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedReboot {
    /// The time that the request names. It identifies the request: the same time is the same request.
    pub requested_at: Timestamp,
    /// The time at which the service received it.
    pub asked_at: Timestamp,
    /// `None`: nothing can reboot the host, or nothing may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<RebootWay>,
    /// `None`: the reboot has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RebootOutcome>,
}

/// The way in which a host is rebooted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RebootWay {
    /// By the BMC of this name, in the host's InfraEnv.
    Bmc(String),
    /// By the agent on its node.
    NodeAgent,
}

/// The end of a request to reboot a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RebootOutcome {
    /// The BMC has switched the machine off and on, or the agent on the node has begun the reboot.
    Done,
    /// With the reason, for users: the end of a sentence.
    Failed(String),
}

impl AskedReboot {
    /// True while the host is to be rebooted and was not.
    pub fn is_pending(&self) -> bool {
        self.way.is_some() && self.outcome.is_none()
    }

    /// Ends a pending request; the outcome of one that has ended stays.
    pub fn end(&mut self, outcome: RebootOutcome) {
        if self.is_pending() {
            self.outcome = Some(outcome);
        }
    }
}
