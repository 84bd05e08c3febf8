//! Defines the claims of tokens.

use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use serde::{Deserialize, Serialize};

/// The payload. That of URLs also holds the key with which they were made, and their expiry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Claims {
    /// Signed URLs of one InfraEnv.
    InfraEnvUrl {
        /// The InfraEnv to which it gives access.
        infra_env_id: InfraEnvId,
        /// [`url_key`] of the InfraEnv when the URL was made: a new boot id revokes it.
        url_key: String,
        /// Seconds since 1970; absent: valid until revoked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exp: Option<i64>,
    },
    /// Agents and images of one InfraEnv.
    InfraEnv {
        /// The InfraEnv to which it gives access.
        infra_env_id: InfraEnvId,
        /// `token_generation` of the InfraEnv when it was made: a later one revokes it.
        #[serde(default, rename = "gen", skip_serializing_if = "is_first")]
        generation: u32,
    },
    /// One signed URL of one cluster.
    ClusterUrl {
        /// The cluster to which it gives access.
        cluster_id: ClusterId,
        /// The accessible part of the cluster.
        purpose: UrlPurpose,
        /// Restricts access to this host.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host_id: Option<HostId>,
        /// [`url_key`] of the cluster's random key when the URL was made: another key revokes it.
        url_key: String,
        /// Seconds since 1970; absent: valid until revoked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exp: Option<i64>,
    },
    /// The user API.
    Operator(OperatorClaims),
}

/// The user of the user API, and the accessible part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorClaims {
    /// Always true.
    pub operator: bool,
    /// Key of the row that proves that the token was issued and not revoked. Absent from tokens of earlier versions,
    /// which end with the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jti: Option<String>,
    /// Name of the user.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The token allows no changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// The only InfraEnv to which it gives access. (Not named as the agents' claim: these tokens are no agents'
    /// tokens.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<InfraEnvId>,
    /// Seconds since 1970; absent: no expiry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exp: Option<i64>,
}

impl Claims {
    /// Claims for the whole user API, without a name.
    pub fn operator() -> Self {
        Self::Operator(OperatorClaims {
            operator: true,
            ..OperatorClaims::default()
        })
    }

    /// Seconds since 1970 at which the token expires; `None`: no expiry.
    pub fn ends_at(&self) -> Option<i64> {
        match self {
            Self::InfraEnvUrl { exp, .. } | Self::ClusterUrl { exp, .. } => *exp,
            Self::Operator(claims) => claims.exp,
            Self::InfraEnv { .. } => None,
        }
    }
}

/// Purpose of a signed URL of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UrlPurpose {
    /// Lists its events.
    Events,
    /// Downloads logs.
    Logs,
}

/// A token that is not accepted. The text never holds the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not three base64url parts, not JSON, another algorithm.
    #[error("the token is malformed: it must be a JWT signed with ES256")]
    Malformed,
    /// Signed by another party, or for a service with another key.
    #[error("the token's signature is not of this service")]
    BadSignature,
    /// Signed by this service, but without a known scope.
    #[error("the token names neither an InfraEnv nor a cluster nor the operator")]
    NoScope,
    /// It has expired.
    #[error("this token or URL has expired; get a new one")]
    Expired,
}

/// Tokens of the first generation omit it, so that their text is the same as before generations existed.
fn is_first(generation: &u32) -> bool {
    *generation == 0
}

/// A hash that ties a signed URL to the InfraEnv's present boot id, or to the cluster's present key.
pub fn url_key(boot_id: &str) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    hash.update(b"muster signed URL ");
    hash.update(boot_id.as_bytes());
    hash.finalize()[..12]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
