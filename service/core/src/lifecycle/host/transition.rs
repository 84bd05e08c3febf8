//! Moves a host to a state, with the text that users see.

use crate::record::{Host, HostState};
use crate::text::cut;

/// Longest `status_info`, bytes (docs/protocol/host-lifecycle.md#2).
const MAX_INFO: usize = 2040;

/// Shown for a host that has just registered.
pub(super) const WAITS_FOR_INVENTORY: &str = "Waits for the host to report its inventory";

/// Sets state and `status_info`.
pub(super) fn move_to(host: &mut Host, state: HostState, info: &str) {
    host.state = state;
    host.data.comes_back = false;
    host.data.bmc_boot = None;
    set_info(host, info);
}

/// Sets `status_info` alone.
pub(super) fn set_info(host: &mut Host, info: &str) {
    cut(info, MAX_INFO).clone_into(&mut host.data.status_info);
}

/// The present `status_info`, as a sentence in a refusal.
pub(super) fn describe(host: &Host) -> String {
    let info = &host.data.status_info;
    if info.is_empty() {
        String::new()
    } else {
        format!("Its status: {info}")
    }
}
