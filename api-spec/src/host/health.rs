//! The health of a host as the API returns it.

use serde::{Deserialize, Serialize};

use crate::steps::HealthReport;

/// The reports of a host's sensors, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostHealth {
    /// Time of the last report. The agent sends another only when a value has changed beyond a hysteresis.
    pub reported_at: String,
    pub last: HealthReport,
    pub worst: HostHealthWorst,
    /// The last 24 hours that had a report, the latest last.
    #[serde(default)]
    pub hours: Vec<HostHealthHour>,
}

/// The worst values of the day (UTC) of the last report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostHealthWorst {
    /// `2026-12-01`.
    pub day: String,
    /// Of the hottest sensor, °C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius: Option<i16>,
    pub load_percent: u32,
    pub memory_percent: u8,
}

/// The highest values of an hour in which there was a report; they stand until the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostHealthHour {
    /// Its begin.
    pub at: String,
    /// Of the hottest sensor, °C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius: Option<i16>,
    pub load_percent: u32,
}
