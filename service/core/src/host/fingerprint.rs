//! What a machine calls itself: tells two machines apart that compute the same host id.

use serde::{Deserialize, Serialize};

/// Ids that a machine's parts carry. Empty: not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fingerprint {
    /// Serial number of the board.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub board_serial: String,
    /// Serial number of the system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system_serial: String,
    /// UUID of the system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system_uuid: String,
    /// Permanent MACs, lower case, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub macs: Vec<String>,
    /// World-wide names of disks, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disk_wwns: Vec<String>,
}
