//! A request to install a node again while it stays in its cluster.

use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::reboot::RebootOutcome;

/// The last request to install the node of a host again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedReinstall {
    /// The time that the request names. It identifies the request: the same time is the same request.
    pub requested_at: Timestamp,
    /// The cluster in which this request or an earlier one was followed; `None`: none was, or the host has left that cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    pub step: ReinstallStep,
    /// Beginning of the step.
    pub since: Timestamp,
    /// Nothing was done with the host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_refused: bool,
    /// `None`: it is being carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RebootOutcome>,
}

/// The next thing that has to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReinstallStep {
    /// The agent on the node downloads what the machine boots into discovery with.
    Download,
    /// The agent on the node reboots the machine.
    Reboot,
    /// A BMC or a user boots the discovery image.
    Boot,
    /// The discovery image runs: the host is checked and installed.
    Install,
}

impl AskedReinstall {
    /// True until it has ended.
    pub fn is_pending(&self) -> bool {
        self.outcome.is_none()
    }

    /// Ends a pending request; the outcome of one that has ended stays.
    pub fn end(&mut self, outcome: RebootOutcome) {
        if self.is_pending() {
            self.outcome = Some(outcome);
        }
    }

    /// Begins a step.
    pub fn goes_on(&mut self, step: ReinstallStep, now: Timestamp) {
        self.step = step;
        self.since = now;
    }
}
