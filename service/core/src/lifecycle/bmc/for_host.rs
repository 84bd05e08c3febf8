//! Runs that nobody asked for: the host that the machine is waits for a boot.

use muster_api::time::Timestamp;

use super::events;
use super::ground::{clean_up, enter, refused, start};
use crate::record::{Bmc, BmcStage, NewEvent};

/// The reason of work that was broken off, since the host has booted meanwhile.
pub const LEFT_ALONE: &str = "The host waits for no boot any more: the machine was left alone";

/// Begins a run for the host that waits since then. One that ended later was for this wait: what stood in its way still does.
pub(super) fn begin(bmc: &mut Bmc, since: Timestamp, now: Timestamp) -> Option<Vec<NewEvent>> {
    let host_id = bmc.host_id?;
    // Its power first, where somebody has asked for that; the host still waits then.
    let is_switched = bmc.power.under_way(now).is_some();
    if bmc.stage.is_active() || is_switched || refused(bmc).is_some() || bmc.progress.since > since {
        return None;
    }
    start(bmc, now);
    bmc.progress.for_host = true;
    Some(vec![events::started_for_host(bmc, host_id, now)])
}

/// Ends one whose host waits no longer.
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
