//! `tang-connectivity-check`: whether the servers of disk keys answer.

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TangConnectivityRequest {
    /// JSON text: array of [`TangServer`].
    #[serde(deserialize_with = "null_as_default")]
    pub tang_servers: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TangServer {
    #[serde(deserialize_with = "null_as_default")]
    pub url: String,
    /// Thumbprint of its signing key.
    #[serde(deserialize_with = "null_as_default")]
    pub thumbprint: String,
}

/// The reply. Any failure: exit code -1, `tang_server_response` null.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TangConnectivityResponse {
    /// True when all servers answered.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub is_success: bool,
    pub tang_server_response: Option<Vec<TangServerResponse>>,
}

/// Advertisement of a server (JWS).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TangServerResponse {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub tang_url: String,
    /// Base64 of its keys.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub payload: String,
    /// Signatures of the payload.
    #[serde(deserialize_with = "null_as_default")]
    pub signatures: Vec<TangSignature>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TangSignature {
    /// Base64 of the header.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub protected: String,
    /// Base64.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub signature: String,
}
