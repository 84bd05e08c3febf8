//! Defines the claims of tokens.

use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use serde::{Deserialize, Serialize};

/// The payload. Those in URLs also say with which key they were made, and until when they are good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Claims {
    /// Signed URLs of one InfraEnv.
    InfraEnvUrl {
        /// The one that it opens.
        infra_env_id: InfraEnvId,
        /// [`url_key`] of the InfraEnv when the URL was made: a new boot id revokes it.
        url_key: String,
        /// Seconds since 1970; absent: until it is revoked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exp: Option<i64>,
    },
    /// Agents and images of one InfraEnv.
    InfraEnv {
        /// The one that it opens.
        infra_env_id: InfraEnvId,
        /// `token_generation` of the InfraEnv when it was made: a later one revokes it.
        #[serde(default, rename = "gen", skip_serializing_if = "is_first")]
        generation: u32,
    },
    /// One signed URL of one cluster.
    ClusterUrl {
        /// The one that it opens.
        cluster_id: ClusterId,
        /// What of it.
        purpose: UrlPurpose,
        /// Only of this host.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host_id: Option<HostId>,
        /// [`url_key`] of the cluster's random key when the URL was made: another key revokes it.
        url_key: String,
        /// Seconds since 1970; absent: until it is revoked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exp: Option<i64>,
    },
    /// The user API.
    Operator(OperatorClaims),
}

/// Who uses the user API, and which part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorClaims {
    /// Always true.
    pub operator: bool,
    /// Key of the row that says that it was made, and not revoked. Absent from tokens of earlier versions, which end with the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jti: Option<String>,
    /// Who uses it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// It changes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// The InfraEnv that alone it opens. (Not named as the agents' claim: these tokens are none of an agent.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<InfraEnvId>,
    /// Seconds since 1970; absent: it does not end by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exp: Option<i64>,
}

impl Claims {
    /// The user API, whole, without a name.
    pub fn operator() -> Self {
        Self::Operator(OperatorClaims {
            operator: true,
            ..OperatorClaims::default()
        })
    }

    /// Seconds since 1970 at which the token ends; `None`: it does not end by itself.
    pub fn ends_at(&self) -> Option<i64> {
        match self {
            Self::InfraEnvUrl { exp, .. } | Self::ClusterUrl { exp, .. } => *exp,
            Self::Operator(claims) => claims.exp,
            Self::InfraEnv { .. } => None,
        }
    }
}

/// What a signed URL of a cluster is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UrlPurpose {
    /// Lists its events.
    Events,
    /// Downloads logs.
    Logs,
}

/// A token is not accepted. The text never holds the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not three base64url parts, not JSON, another algorithm.
    #[error("the token is malformed: it must be a JWT signed with ES256")]
    Malformed,
    /// Made by somebody else, or for a service with another key.
    #[error("the token's signature is not of this service")]
    BadSignature,
    /// Signed by us, but it names nothing that it opens.
    #[error("the token names neither an InfraEnv nor a cluster nor the operator")]
    NoScope,
    /// Its time is over.
    #[error("this token or URL has expired; ask for a new one")]
    Expired,
}

/// Tokens of the first generation do not name it: they are the same text as before there were generations.
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
