//! Discoveries without a user's request: the machine's host waits for a boot.

use muster_api::bmc::BmcFailure;
use muster_api::time::Timestamp;

use super::events;
use super::ground::{clean_up, enter, refused, start};
use crate::record::{Bmc, BmcStage, NewEvent};

/// The reason of work that was cancelled because the host has booted in the meantime.
pub const LEFT_ALONE: &str = "The host waits for no boot any more: the machine was left alone";

/// Begins a discovery for the host that waits since then, unless one for the same wait has ended: its obstacle is still
/// there.
pub(super) fn begin(bmc: &mut Bmc, since: Timestamp, now: Timestamp) -> Option<Vec<NewEvent>> {
    let host_id = bmc.host_id?;
    // A user's request for power goes first; the host still waits afterwards.
    let is_switched = bmc.power.under_way(now).is_some();
    if bmc.stage.is_active() || is_switched || refused(bmc).is_some() || bmc.progress.since > since {
        return None;
    }
    start(bmc, now);
    bmc.progress.for_host = true;
    Some(vec![events::started_for_host(bmc, host_id, now)])
}

/// Ends a discovery if its host waits no longer.
pub(super) fn end(bmc: &mut Bmc, now: Timestamp) -> Option<Vec<NewEvent>> {
    let host_id = bmc.host_id?;
    let stage = BmcStage::Discovered {
        host_id,
        differences: Vec::new(),
    };
    enter(bmc, stage, LEFT_ALONE, None, now);
    clean_up(bmc, now);
    Some(Vec::new())
}

/// The state of the boot that wakes the host of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WakeProgress {
    /// It waits for its turn, or for other work on the BMC.
    Waits,
    Begun,
    Failed {
        /// The end of a sentence.
        reason: String,
        /// No fault of the service or of its settings.
        is_of_machine: bool,
    },
}

/// Returns the state of the boot of the host that is woken since `asked_at`.
pub fn wake_progress(bmc: &Bmc, asked_at: Timestamp) -> WakeProgress {
    if let Some(failure) = refused(bmc) {
        return WakeProgress::Failed {
            reason: format!("the last login to its BMC {} was refused ({failure})", bmc.name),
            is_of_machine: false,
        };
    }
    let has_ended = bmc.progress.since > asked_at;
    match &bmc.stage {
        BmcStage::Checking | BmcStage::Inserting | BmcStage::Booting | BmcStage::WaitingForAgent => {
            WakeProgress::Begun
        }
        BmcStage::Failed { failure } if has_ended => WakeProgress::Failed {
            reason: format!("its BMC {}: {}", bmc.name, bmc.progress.reason),
            is_of_machine: is_of_machine(*failure),
        },
        BmcStage::Stopped if has_ended => WakeProgress::Failed {
            reason: format!("somebody stopped its BMC {} meanwhile", bmc.name),
            is_of_machine: false,
        },
        // A host that is found continues with its registration.
        BmcStage::Waiting | BmcStage::Discovered { .. } | BmcStage::Failed { .. } | BmcStage::Stopped => {
            WakeProgress::Waits
        }
    }
}

/// False for failures that the service, its settings or another program caused: the next machine would fail in the same way.
fn is_of_machine(failure: BmcFailure) -> bool {
    match failure {
        BmcFailure::Unreachable
        | BmcFailure::System
        | BmcFailure::Media
        | BmcFailure::Boot
        | BmcFailure::NoAgent
        | BmcFailure::Refused => true,
        BmcFailure::Credentials
        | BmcFailure::Certificate
        | BmcFailure::Address
        | BmcFailure::Image
        | BmcFailure::InUse => false,
    }
}
