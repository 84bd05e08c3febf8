//! The power of the machine behind a BMC, with the last request for it.

use muster_api::bmc::{BmcFailure, BmcPowerAction, BmcPowerOutcome};
use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What is known about the power of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BmcPower {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<PowerSeen>,
    /// The last request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<PowerRequest>,
    /// The BMC refused a request so that another login would do harm or have no effect until a user changes the
    /// credentials, the certificate or the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<BmcFailure>,
}

/// A power state as the BMC reported it.
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
    /// Made for the machine's host, which waits for a boot from its disk, without a user's request.
    #[serde(default)]
    pub from_disk: bool,
    /// Made for the machine's host, which is to reboot: the time that the request for that names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reboot_of: Option<Timestamp>,
    /// Made for the machine's host, which is to sleep: the time that the request for that names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep_of: Option<Timestamp>,
    pub asked_at: Timestamp,
    pub deadline: Timestamp,
    /// Work on the request has begun: a driver that reads it as set did not begin it itself.
    pub begun: bool,
    pub outcome: BmcPowerOutcome,
    pub reason: String,
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
}

impl BmcPower {
    /// The pending request, unless its deadline has passed.
    pub fn under_way(&self, now: Timestamp) -> Option<&PowerRequest> {
        self.pending().filter(|request| request.deadline > now)
    }

    /// The last request, if it was made for the reboot of the host that was requested at that time.
    pub fn reboot(&self, requested_at: Timestamp) -> Option<&PowerRequest> {
        let request = self.request.as_ref();
        request.filter(|request| request.reboot_of == Some(requested_at))
    }

    /// The last request, if it was made for the sleep of the host that was requested at that time.
    pub fn sleep(&self, requested_at: Timestamp) -> Option<&PowerRequest> {
        let request = self.request.as_ref();
        request.filter(|request| request.sleep_of == Some(requested_at))
    }

    /// The pending request.
    pub fn pending(&self) -> Option<&PowerRequest> {
        let request = self.request.as_ref();
        request.filter(|request| request.outcome == BmcPowerOutcome::Pending)
    }
}
