//! Actions as their jobs have them.

use std::collections::BTreeMap;

use muster_api::jobs::{DiskRule, JobAction};
use muster_core::rules::input::Invalid;

/// Longest action, bytes of JSON.
const MAX_ACTION: usize = 16 << 10;

/// The action as its job has it: without the list of names or disks, each of which is with its host.
pub(super) fn stored(action: &JobAction) -> JobAction {
    match action {
        JobAction::Hostname { pattern, .. } => JobAction::Hostname {
            pattern: pattern.clone(),
            names: BTreeMap::new(),
        },
        JobAction::Disk {
            rule: DiskRule::List { .. },
        } => JobAction::Disk {
            rule: DiskRule::List {
                disks: BTreeMap::new(),
            },
        },
        other => other.clone(),
    }
}

/// Each list of jobs has the actions; values of tables are with the hosts of their job.
pub(super) fn check_size(action: &JobAction) -> Result<(), Invalid> {
    let bytes = serde_json::to_string(&stored(action)).map_or(0, |text| text.len());
    match bytes > MAX_ACTION {
        true => Err(Invalid::new(
            "action",
            format!("it has {bytes} bytes; a job has at most {MAX_ACTION}: do it by several jobs"),
        )),
        false => Ok(()),
    }
}
