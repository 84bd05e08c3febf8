//! Events in the discovery of a machine.

use muster_api::bmc::{BmcCheck, BmcDifference, BmcFailure, BmcInventory, BmcPowerAction};
use muster_api::ids::HostId;
use muster_api::time::Timestamp;

/// An event in the discovery of a machine.
#[derive(Debug, Clone, PartialEq)]
pub enum BmcEvent {
    /// A user requests the discovery of the machine.
    Discover,
    /// A user stops the discovery.
    Stop,
    /// The machine's host waits since then for a boot into the discovery image.
    HostWaits {
        since: Timestamp,
    },
    /// The host waits for the boot no longer.
    HostBack,
    /// The machine's host waits since then for a boot from its disk.
    HostAwaitsDisk {
        since: Timestamp,
    },
    /// The machine's host is to reboot, as was requested at that time.
    HostReboots {
        requested_at: Timestamp,
    },
    /// The machine's host is to sleep, as was requested at that time.
    HostSleeps {
        host_id: HostId,
        requested_at: Timestamp,
    },
    /// The discovery leaves the queue.
    Begun,
    /// The BMC was checked; a problem ends the discovery.
    Checked {
        seen: Box<Seen>,
        problem: Option<Problem>,
    },
    /// The image is in this slot.
    Inserted {
        slot: String,
    },
    /// The machine was switched on with the boot override. `note`: what the BMC shows instead; may be empty.
    Booted {
        note: String,
    },
    /// The work of the phase failed.
    StepFailed(Problem),
    /// No host registered from the machine yet, or the host still runs from the medium. `note`: what was seen instead;
    /// may be empty.
    Looked {
        note: String,
    },
    /// The machine is this host. `runs_from_medium`: ejecting the medium would crash the host's system.
    AgentSeen {
        host_id: HostId,
        differences: Vec<BmcDifference>,
        runs_from_medium: bool,
    },
    /// The host runs from its disk, or was deleted.
    MediumFree,
    /// No medium is left in the BMC.
    Cleaned,
    NotCleaned(Problem),
    /// The deadline of the phase passed.
    DeadlinePassed,
    /// A user requests the power state or a change of it.
    PowerAsked(PowerAsked),
    /// Work on the request with this id began.
    PowerBegun {
        id: i64,
    },
    PowerDone(PowerDone),
}

/// A user's request for power.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerAsked {
    pub action: BmcPowerAction,
    pub force: bool,
    /// Set while the machine is being installed; see [`super::installation`].
    pub installation: Option<String>,
}

/// The outcome of a request for power.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerDone {
    pub id: i64,
    /// As the BMC reported it at the end.
    pub state: Option<String>,
    /// SHA-256 of the certificate that was shown.
    pub certificate: Option<String>,
    /// The request failed.
    pub problem: Option<Problem>,
}

/// The result of a check of the BMC.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    pub checks: Vec<BmcCheck>,
    /// SHA-256 of the certificate that was shown.
    pub certificate: Option<String>,
    pub inventory: Option<BmcInventory>,
}

/// A failed operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub failure: BmcFailure,
    /// For users; holds no secret.
    pub reason: String,
    /// A retry may succeed without any change by a user.
    pub passing: bool,
}
