//! `container-image-availability`: whether the registries serve what an installation needs.

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerImageAvailabilityRequest {
    /// References.
    #[serde(deserialize_with = "null_as_default")]
    pub images: Vec<String>,
    /// Seconds for all of them; 0: 960.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub timeout: i64,
}

/// The reply; exit code 2 when an image failed, and read all the same.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerImageAvailabilityResponse {
    #[serde(deserialize_with = "null_as_default")]
    pub images: Vec<ContainerImageAvailability>,
}

/// Availability of one image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerImageAvailability {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ContainerImageAvailabilityResult>,
    /// Bytes downloaded.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub size_bytes: f64,
    /// Duration, seconds.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub time: f64,
    /// MB (10^6) a second.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub download_rate: f64,
}

/// Availability of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerImageAvailabilityResult {
    Success,
    Failure,
}
