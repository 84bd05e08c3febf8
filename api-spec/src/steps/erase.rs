//! `erase-disks`: the agent of the live system erases disks of a host that left a cluster. Our addition to the protocol.
//!
//! An erasure takes hours on large disks, so the step only begins it and returns how far it is. The service sends the same
//! request with each poll until the answer's `is_over`.

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

/// How thoroughly a disk is erased.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ErasureDepth {
    /// Partition tables, signatures, and the places of keys and seeds that an installation wrote.
    #[default]
    Metadata,
    /// All sectors.
    Full,
}

/// What erases all sectors of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ErasureMethod {
    /// Only the places of [`ErasureDepth::Metadata`] were overwritten.
    Metadata,
    /// NVMe Sanitize: crypto erase where the controller has it, else block erase.
    NvmeSanitize,
    /// NVMe Format with secure erase settings.
    NvmeFormat,
    /// ATA SECURITY ERASE UNIT, enhanced where the disk has it.
    AtaSecureErase,
    /// `BLKDISCARD`, then samples are read back and must be zero.
    Discard,
    /// Zeros are written over all sectors.
    Overwrite,
}

/// Argument of `erase-disks`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EraseDisksRequest {
    /// Names the erasure. An agent that has begun it begins nothing a second time; after a restart it begins from the start.
    pub id: String,
    pub depth: ErasureDepth,
    /// With [`ErasureDepth::Full`]: zeros are written even where the disk has a command of its own.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub overwrite: bool,
    pub disks: Vec<DiskToErase>,
}

/// A disk, by what its inventory had when it was written to. All members that are given must fit, so that another disk in its place is
/// not erased.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskToErase {
    /// `id` of the inventory (`/dev/disk/by-id/...`, or its path).
    pub id: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub serial: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub wwn: String,
    /// Bytes.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub size_bytes: i64,
}

/// Answer of `erase-disks`: how far it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EraseDisksResponse {
    /// Of the request.
    pub id: String,
    /// True once nothing more is done, whether or not each disk was erased.
    pub is_over: bool,
    /// One for each disk of the request, in its order.
    pub disks: Vec<DiskErasure>,
}

/// How far the erasure of a disk is, and what shows that it was done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct DiskErasure {
    /// `id` of the request.
    pub id: String,
    pub state: ErasureState,
    /// What is done, or was done last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<ErasureMethod>,
    /// Bytes that are erased, of [`Self::bytes_total`].
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub bytes_done: i64,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub bytes_total: i64,
    /// Since it began.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub seconds: i64,
    /// Sectors that were read back after it, all of which were as the method leaves them.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub samples: i64,
    /// Why it failed, or why a method before [`Self::method`] was not possible.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub message: String,
}

/// State of a disk's erasure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ErasureState {
    #[default]
    Waiting,
    Erasing,
    Erased,
    Failed,
}
