//! Holds the longest waits: for a poll of a host, and for reports about a stage of its installation.

use chrono::Duration;
use muster_api::host::HostStage;
use muster_api::host::HostStage::{
    Configuring, CopyingRegistryDataToDisk, Done, Failed, Installing, Joined, Rebooting,
    StartingInstallation, WaitingForBootkube, WaitingForControlPlane, WaitingForController,
    WaitingForIgnition, WritingImageToDisk,
};

/// A host that has not polled for this long is disconnected. Source: docs/protocol/host-lifecycle.md#6 (`HOST_MAX_DISCONNECTION_TIME`).
pub const USUAL_SILENCE: Duration = Duration::minutes(3);

/// A host that sleeps must have registered so long after its BMC began to boot it. Source: the power-on self test of a large server takes a
/// quarter of an hour.
pub const USUAL_WAKE: Duration = Duration::minutes(20);

/// The longest waits: the protocol's, except those that an operator set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitLimits {
    silence: Duration,
    wake: Duration,
    set: Vec<(HostStage, Duration)>,
}

impl Default for WaitLimits {
    fn default() -> Self {
        Self::new(USUAL_SILENCE, Vec::new())
    }
}

impl WaitLimits {
    /// `stages`: those that the operator set.
    pub const fn new(silence: Duration, stages: Vec<(HostStage, Duration)>) -> Self {
        Self {
            silence,
            wake: USUAL_WAKE,
            set: stages,
        }
    }

    /// The same with this time for a host that is woken.
    #[must_use]
    pub fn with_wake(self, wake: Duration) -> Self {
        Self { wake, ..self }
    }

    /// Time between the begin of the boot of a host that sleeps and its registration.
    pub const fn wake(&self) -> Duration {
        self.wake
    }

    /// Time without a poll after which a host is disconnected.
    pub const fn silence(&self) -> Duration {
        self.silence
    }

    /// Time without a report about a stage after which it counts as failed.
    pub fn of(&self, stage: HostStage) -> Duration {
        let mut set = self.set.iter().filter(|(of, _)| *of == stage);
        set.next().map_or_else(|| usual(stage), |(_, limit)| *limit)
    }
}

fn usual(stage: HostStage) -> Duration {
    match stage {
        StartingInstallation | WritingImageToDisk => Duration::minutes(30),
        CopyingRegistryDataToDisk => Duration::minutes(90),
        Rebooting => Duration::minutes(40),
        WaitingForIgnition => Duration::hours(24),
        Installing
        | WaitingForControlPlane
        | WaitingForBootkube
        | WaitingForController
        | Configuring
        | Joined
        | Done
        | Failed => Duration::minutes(60),
    }
}
