//! Virtual drives of a BMC.

use serde::{Deserialize, Serialize};

/// A member of the collection `VirtualMedia`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    pub id: String,
    /// `MediaTypes`: `CD`, `DVD`, `USBStick`, ...
    pub types: Vec<String>,
    pub kind: SlotKind,
}

/// The reaction of a drive to an insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotKind {
    /// It accepts a URL.
    Url,
    /// It has the action, and returns 400 for it: the drive of the remote console.
    Refuses,
    /// It has no action and returns 405.
    ConsoleOnly,
}

impl Slot {
    /// A drive that accepts a URL.
    pub fn url(id: &str, types: &[&str]) -> Self {
        Self::new(id, types, SlotKind::Url)
    }

    pub fn new(id: &str, types: &[&str], kind: SlotKind) -> Self {
        Self {
            id: id.to_owned(),
            types: types.iter().map(|kind| (*kind).to_owned()).collect(),
            kind,
        }
    }

    pub(super) fn usual() -> Vec<Self> {
        vec![Self::url("Cd", &["CD", "DVD"]), Self::url("Usb", &["USBStick"])]
    }
}
