//! `api-vip-connectivity-check`: whether a host can take its ignition from the cluster it is to join.

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiVipConnectivityRequest {
    /// URL of the Ignition.
    #[serde(deserialize_with = "null_as_default")]
    pub url: String,
    /// PEM bundle in base64; only these are trusted when present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_certificate: Option<String>,
    /// Sent as `Bearer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint_token: Option<String>,
    /// Sent after that, and stronger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_headers: Option<Vec<crate::host::KeyValue>>,
    /// Never set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_cidr: Option<bool>,
}

/// Result. A failure is exit code 0 with `is_success` false.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiVipConnectivityResponse {
    /// A valid ignition (3.0 to 3.2) was received.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub is_success: bool,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub url: String,
    /// Reason for the failure.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub download_error: String,
    /// The part that the service needs: `storage.luks` and three files (docs/protocol/agent-protocol.md#6).
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub ignition: String,
}
