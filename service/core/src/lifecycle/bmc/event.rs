//! What can happen to the discovery of a machine.

use muster_api::bmc::{BmcCheck, BmcDifference, BmcFailure, BmcInventory, BmcPowerAction};
use muster_api::ids::HostId;
use muster_api::time::Timestamp;

/// Something that happens to the discovery of a machine.
#[derive(Debug, Clone, PartialEq)]
pub enum BmcEvent {
    /// A user wants the machine to be discovered.
    Discover,
    /// A user wants it to end.
    Stop,
    /// The host that its machine is waits since then for a boot into the discovery image.
    HostWaits {
        since: Timestamp,
    },
    /// The host waits for it no longer.
    HostBack,
    /// The host that its machine is waits since then for a boot from its disk.
    HostAwaitsDisk {
        since: Timestamp,
    },
    /// Its turn has come.
    Begun,
    /// The BMC was looked at; with a problem it goes no further.
    Checked {
        seen: Box<Seen>,
        problem: Option<Problem>,
    },
    /// The image is in this slot.
    Inserted {
        slot: String,
    },
    /// The machine was switched on with the boot override.
    Booted,
    /// What the phase is for could not be done.
    StepFailed(Problem),
    /// No agent's host was the machine, or the host still runs from the medium. `note`: what was seen instead; may be empty.
    Looked {
        note: String,
    },
    /// The machine is this host. `runs_from_medium`: to eject it would kill the host's system.
    AgentSeen {
        host_id: HostId,
        differences: Vec<BmcDifference>,
        runs_from_medium: bool,
    },
    /// The host runs from its disk, or is gone.
    MediumFree,
    /// Nothing is left in the BMC.
    Cleaned,
    NotCleaned(Problem),
    /// The time of the phase is over.
    DeadlinePassed,
    /// A user asks something of the machine's power.
    PowerAsked(PowerAsked),
    /// The request with this id is being done.
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
    /// Says that the machine is being installed; see [`super::installation`].
    pub installation: Option<String>,
}

/// What came of a request for power.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerDone {
    pub id: i64,
    /// As the BMC told it at the end.
    pub state: Option<String>,
    /// SHA-256 of the certificate that was shown.
    pub certificate: Option<String>,
    /// It was not done.
    pub problem: Option<Problem>,
}

/// What a look at the BMC found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    pub checks: Vec<BmcCheck>,
    /// SHA-256 of the certificate that was shown.
    pub certificate: Option<String>,
    pub inventory: Option<BmcInventory>,
}

/// Something that could not be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub failure: BmcFailure,
    /// For users; holds no secret.
    pub reason: String,
    /// The same may succeed later, though nobody does anything.
    pub passing: bool,
}
