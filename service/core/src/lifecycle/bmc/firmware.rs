//! Follows the firmware of a machine and of its BMC from one reading to the next.

use muster_api::time::Timestamp;

use super::events::about_part;
use crate::record::{Bmc, NewEvent};
use crate::text::one_line;

/// Longest version in an event, bytes.
const MAX_VERSION: usize = 120;

/// An event for each firmware that has another version than when the BMC was read before, with both values.
pub(super) fn changed(old: &Bmc, new: &Bmc, now: Timestamp) -> Vec<NewEvent> {
    let (Some(before), Some(after)) = (&old.inventory, &new.inventory) else {
        return Vec::new();
    };
    let versions = [
        ("firmware", &before.bios_version, &after.bios_version),
        ("firmware of the BMC", &before.bmc_version, &after.bmc_version),
    ];
    versions
        .into_iter()
        .filter_map(|(part, before, after)| {
            let (before, after) = (before.as_deref()?, after.as_deref()?);
            let shown = [before, after].map(|version| one_line(version, MAX_VERSION));
            (before != after).then(|| about_part(new, part, shown, now))
        })
        .collect()
}
