//! `domain-resolution`: what names mean on a host.

use serde::{Deserialize, Serialize};

use crate::serialize::{empty_as_null, null_as_default};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DomainResolutionRequest {
    /// In this order.
    #[serde(deserialize_with = "null_as_default")]
    pub domains: Vec<DomainResolutionRequestDomain>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DomainResolutionRequestDomain {
    /// May end in a dot.
    #[serde(deserialize_with = "null_as_default")]
    pub domain_name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DomainResolutionResponse {
    #[serde(deserialize_with = "null_as_default")]
    pub resolutions: Vec<DomainResolution>,
}

/// Addresses of a name; empty lists when it was not found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DomainResolution {
    #[serde(deserialize_with = "null_as_default")]
    pub domain_name: String,
    /// A records.
    #[serde(deserialize_with = "null_as_default")]
    pub ipv4_addresses: Vec<String>,
    /// AAAA records.
    #[serde(deserialize_with = "null_as_default")]
    pub ipv6_addresses: Vec<String>,
    /// Canonical name with its dot; none is `null` on the wire.
    #[serde(serialize_with = "empty_as_null", deserialize_with = "null_as_default")]
    pub cnames: Vec<String>,
}
