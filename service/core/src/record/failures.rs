//! Installations and nodes that failed on a host.

use std::collections::BTreeSet;

use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The failures of a host since its last success, or since they were forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// At least 1.
    pub count: u32,
    /// Time of the last one.
    pub last_at: Timestamp,
    /// Stage or state in which it happened; empty: not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// Its reason, for users; on one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// True from the failure to the next request to install: an installation counts once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_counted: bool,
    /// Cluster of the first one; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterId>,
    /// True if one happened in another cluster, or while the disk was written: no cluster's bootstrap data are at fault for all of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_machine: bool,
    /// True if it did not wake: it is in quarantine, whatever the number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub did_not_wake: bool,
    /// The machine with which the failures happened.
    #[serde(default, skip_serializing_if = "FailedParts::is_empty")]
    pub parts: FailedParts,
}

/// Parts of a machine by which a repair is seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailedParts {
    /// Ids of disks and network cards; empty: not known, or too many.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub ids: BTreeSet<String>,
    /// Most memory that was reported; 0: not known.
    pub memory_bytes: i64,
}

impl FailedParts {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
