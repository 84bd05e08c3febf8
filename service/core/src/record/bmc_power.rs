//! The power of the machine behind a BMC, with what was asked of it last.

use muster_api::bmc::{BmcFailure, BmcPowerAction, BmcPowerOutcome};
use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What is known about the power of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BmcPower {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<PowerSeen>,
    /// The last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<PowerRequest>,
    /// The BMC refused a request so that another login would do harm, or nothing, until somebody gives other credentials, another
    /// certificate or another address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<BmcFailure>,
}

/// A power state as the BMC told it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerSeen {
    pub state: String,
    pub at: Timestamp,
}

/// A request for power.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerRequest {
    pub id: i64,
    pub action: BmcPowerAction,
    pub force: bool,
    /// For the host that the machine is, which waits for a boot from its disk: nobody has asked for it.
    #[serde(default)]
    pub from_disk: bool,
    pub asked_at: Timestamp,
    pub deadline: Timestamp,
    /// Somebody has begun to do it: who finds it so was not the one.
    pub begun: bool,
    pub outcome: BmcPowerOutcome,
    pub reason: String,
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
}

impl BmcPower {
    /// The request that is to be done and whose time is not over.
    pub fn under_way(&self, now: Timestamp) -> Option<&PowerRequest> {
        self.pending().filter(|request| request.deadline > now)
    }

    /// The request that is to be done.
    pub fn pending(&self) -> Option<&PowerRequest> {
        let request = self.request.as_ref();
        request.filter(|request| request.outcome == BmcPowerOutcome::Pending)
    }
}
