//! The image that a controller requests for a host.

use serde::{Deserialize, Serialize};

/// An image of the operator's list by its name, its Kubernetes version, or both; never by its place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageWish {
    /// Name, build or version of an entry; empty: not requested.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Kubernetes version without `v`; empty: not requested.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kubernetes_version: String,
}

impl ImageWish {
    /// True if nothing is requested.
    pub fn is_empty(&self) -> bool {
        self.name.is_empty() && self.kubernetes_version.is_empty()
    }
}
