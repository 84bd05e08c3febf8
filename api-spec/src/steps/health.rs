//! `health`: how a machine is. Our addition to the protocol.
//!
//! The agent measures at most once a minute, and answers with the report before as long as nothing has changed beyond a hysteresis; an
//! equal answer is not sent again.

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

/// Argument of `health`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthRequest {
    /// Least time between two measurements, seconds; the agent takes no less than a minute.
    pub interval_seconds: u32,
}

/// Reply of `health`: what the sensors of a machine had when it was measured last. Lists are bounded by the agent, and again by the
/// service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HealthReport {
    /// Boot of the running system, seconds since 1970; 0: not known.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub booted_at: i64,
    /// Version of the machine's firmware, as SMBIOS has it; empty: not known.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub bios_version: String,
    /// Load of the last five minutes in percent of what the processors can do; above 100 work waits.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub load_percent: u32,
    /// Memory in use, percent.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub memory_percent: u8,
    /// Of each chip and limit the highest.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub temperatures: Vec<HealthTemperature>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub fans: Vec<HealthFan>,
    /// Disks that report on themselves.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub disks: Vec<HealthDisk>,
    /// Errors of memory that its controllers have corrected since the boot.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub memory_corrected: u64,
    /// Errors of memory that could not be corrected, since the boot.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub memory_uncorrected: u64,
    /// Links that run below what their cards can do.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub slow_links: Vec<HealthLink>,
}

/// A temperature.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HealthTemperature {
    /// Chip and device, such as `coretemp.0` or `nvme0`.
    #[serde(deserialize_with = "null_as_default")]
    pub sensor: String,
    #[serde(deserialize_with = "null_as_default")]
    pub celsius: i16,
    /// The chip's own critical temperature, otherwise its maximum; absent: it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i16>,
}

/// A fan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HealthFan {
    #[serde(deserialize_with = "null_as_default")]
    pub sensor: String,
    /// Turns a minute; 0 also where no fan is connected.
    #[serde(deserialize_with = "null_as_default")]
    pub rpm: u32,
}

/// A disk's report on itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HealthDisk {
    /// The kernel's name, such as `nvme0n1`.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Empty: none of its sensors is beyond the limit of its maker.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub faults: Vec<HealthDiskFault>,
    /// Wear in percent of what the maker has planned, may be above 100; absent: it does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear_percent: Option<u8>,
    /// Errors by which data was lost, since it was made.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub media_errors: u64,
}

/// A reason for which a disk counts as failing. Sources: NVM Express 2.0, figure 207 (critical warning); ACS-3, §7.48.8; SPC-4, D.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HealthDiskFault {
    /// It predicts its own failure: SMART status of ATA, informational exceptions of SCSI.
    FailurePredicted,
    /// Less spare space than its maker's threshold.
    SpareLow,
    /// Its reliability is degraded by errors of media or of its own.
    Unreliable,
    /// It takes no more writes.
    ReadOnly,
    /// The backup of its volatile memory failed.
    BackupFailed,
    /// A fault that this version has no name for.
    #[serde(other)]
    Other,
}

/// A link below its card's speed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HealthLink {
    #[serde(deserialize_with = "null_as_default")]
    pub interface: String,
    /// Present speed, Mbit/s.
    #[serde(deserialize_with = "null_as_default")]
    pub speed_mbps: u32,
    /// The fastest that the card and what is plugged into it can do, Mbit/s.
    #[serde(deserialize_with = "null_as_default")]
    pub card_mbps: u32,
}
