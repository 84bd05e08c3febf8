//! The erasure of the disks of a host that left a cluster (docs/erasing.md). An addition to the protocol.

use serde::{Deserialize, Serialize};

use crate::infra_env::Cleaning;
use crate::serialize::is_default;
use crate::steps::DiskErasure;

/// The erasure of the disks of a host that left a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostCleaning {
    /// `waiting`, `erasing`, or `failed`: then the host is in quarantine until a person frees it.
    pub stage: String,
    /// How far it is, or why it failed, as sentences.
    pub message: String,
    /// Time at which the host left its cluster.
    pub since: String,
    /// Time by which it must have progressed again; absent: it has not begun, or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// 1 for the first.
    pub attempt: u32,
    /// The InfraEnv's settings at the beginning of the attempt.
    pub settings: Cleaning,
    #[serde(default, skip_serializing_if = "is_default")]
    pub disks: Vec<HostCleanedDisk>,
}

/// An erasure that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostCleaned {
    pub at: String,
    /// `erased`, `not-erased`, or `skipped` by a person.
    pub outcome: String,
    /// The end and the evidence, as sentences.
    pub message: String,
    pub settings: Cleaning,
    #[serde(default, skip_serializing_if = "is_default")]
    pub disks: Vec<HostCleanedDisk>,
}

/// A disk of an erasure, with what the agent reported about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HostCleanedDisk {
    /// `id` of the inventory.
    pub id: String,
    /// Name of the device at that time, such as `sda`.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub serial: String,
    #[serde(skip_serializing_if = "is_default")]
    pub wwn: String,
    #[serde(skip_serializing_if = "is_default")]
    pub size_bytes: i64,
    /// True for a disk that an installation wrote to; false for one that is erased with `all_disks`.
    #[serde(skip_serializing_if = "is_default")]
    pub was_written: bool,
    /// False: the host had no such disk when the erasure began.
    pub is_present: bool,
    /// Absent: nothing was reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<DiskErasure>,
}
