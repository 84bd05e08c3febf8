//! The address of the machine's management controller. Source of the rules: agent-inventory.md §12.

use crate::root::Root;

use super::Problems;

/// The words for "none" on the wire.
const NO_V4: &str = "0.0.0.0";
const NO_V6: &str = "::/0";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Addresses {
    pub v4: String,
    pub v6: String,
}

pub(super) fn addresses(_root: &Root, _problems: &mut Problems) -> Addresses {
    Addresses {
        v4: NO_V4.to_owned(),
        v6: NO_V6.to_owned(),
    }
}
