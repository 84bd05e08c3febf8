//! Discoveries without a user's request: the machine's host waits for a boot.

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
