//! Versions that the service supports. Source: docs/protocol/rest-behaviour.md#7.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Answer of `GET /v2/component-versions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ListVersions {
    /// Left out when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_tag: Option<String>,
    /// Component name to image or version.
    pub versions: BTreeMap<String, String>,
}

/// One version that can be discovered for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OpenshiftVersion {
    pub cpu_architectures: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
    pub display_name: String,
    /// `beta`, `production`, `maintenance` or `end-of-life`.
    pub support_level: String,
}

/// Answer of `GET /v2/openshift-versions`, by display name.
pub type OpenshiftVersions = BTreeMap<String, OpenshiftVersion>;

/// Answer of `GET /v2/support-levels/features`: by name, `supported` or `unavailable`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SupportedFeatures {
    pub features: BTreeMap<String, String>,
}

/// Answer of `GET /v2/support-levels/architectures`: by name, `supported` or `unavailable`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SupportedArchitectures {
    pub architectures: BTreeMap<String, String>,
}

/// Answer of `GET /v2/support-levels/features/detailed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DetailedFeatures {
    pub features: Vec<Feature>,
    /// Always empty.
    pub operators: Vec<Feature>,
}

/// A feature with its level of support.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Feature {
    #[serde(rename = "feature-support-level-id")]
    pub feature_support_level_id: String,
    pub support_level: String,
}
