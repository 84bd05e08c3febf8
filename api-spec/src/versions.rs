//! Versions that the service knows about. Source: rest-behaviour.md §7.

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
#[allow(missing_docs, reason = "field names are the protocol's")]
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
