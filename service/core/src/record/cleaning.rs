//! The erasure of the disks of a host that has left a cluster (docs/erasing.md).

use muster_api::infra_env::Cleaning as CleaningSettings;
use muster_api::steps::DiskErasure;
use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A disk that an installation wrote to, as the inventory had it when the installation was requested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WrittenDisk {
    /// `id` of the inventory.
    pub id: String,
    /// Name of the device, such as `sda`; it may change from boot to boot.
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub serial: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wwn: String,
    /// 0: not known.
    pub size_bytes: i64,
    /// False: the installation was requested, and has not reported a stage in which it writes.
    pub is_written: bool,
}

/// A pending erasure. The host is not available as long as it has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaning {
    /// Names the erasure to the agent: another one for each attempt.
    pub id: String,
    /// Time at which the host left its cluster.
    pub since: Timestamp,
    /// 1 for the first.
    pub attempt: u32,
    /// The InfraEnv's settings at the beginning of the attempt.
    pub settings: CleaningSettings,
    pub stage: CleaningStage,
    /// Registrations while this attempt was erasing: its agent began again after each.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u32,
    /// A disk was missing shortly after the registration, and is waited for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaits_disk: bool,
    /// The disks, and what was reported about each; empty before the attempt has begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<CleanedDisk>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// How far an erasure is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "kebab-case")]
pub enum CleaningStage {
    /// It waits for the host to be in discovery, with an inventory.
    Waiting {
        /// What else holds it up; empty: nothing.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// The agent is instructed to erase.
    Erasing {
        began_at: Timestamp,
        /// Time of the last progress.
        moved_at: Timestamp,
        /// The deadline when it was last computed, for users.
        until: Timestamp,
        /// Why the last reply reports no progress; empty: it does.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        problem: String,
    },
    /// It failed: the host is in quarantine until a person frees it.
    Failed {
        at: Timestamp,
        why: String,
        /// True: the agent may still be at it, until it registers again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        goes_on: bool,
    },
}

/// A disk of an erasure, with the evidence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CleanedDisk {
    pub disk: WrittenDisk,
    /// False: the host had no such disk when the erasure began.
    pub is_present: bool,
    /// The agent's last report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<DiskErasure>,
}

/// An erasure that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaned {
    pub at: Timestamp,
    pub settings: CleaningSettings,
    pub outcome: CleaningOutcome,
    /// For users; empty: nothing to add.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<CleanedDisk>,
}

/// The end of an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CleaningOutcome {
    /// All disks that are there were erased.
    Erased,
    /// Nothing was erased; the message gives the reason.
    NotErased,
    /// A person made the host available without it.
    Skipped,
}
