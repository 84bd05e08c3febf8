//! `installation-disk-speed-check`: how long a synchronous write takes. Arguments: [`DiskSpeedCheckRequest`] and the seconds it may take,
//! as text (`480.00`).

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskSpeedCheckRequest {
    #[serde(deserialize_with = "null_as_default")]
    pub path: String,
}

/// Measurement; read by the service even when the step failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskSpeedCheckResponse {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub path: String,
    /// 99th percentile of a synchronous write, ms; 0 when not measured.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub io_sync_duration: i64,
}

/// Part that the service stores, by disk (`disks_info` of a host).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskInfo {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_speed: Option<DiskSpeed>,
}

/// The outcome of the check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskSpeed {
    /// True when a reply was received.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub tested: bool,
    /// Exit code of that reply.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub exit_code: i64,
    /// ms.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub speed_ms: i64,
}
