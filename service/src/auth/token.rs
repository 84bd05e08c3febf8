//! What stands in a token.

use muster_api::ids::InfraEnvId;
use serde::{Deserialize, Serialize};

/// The payload: exactly one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Claims {
    /// Agents, images and signed URLs of one InfraEnv.
    InfraEnv {
        /// The one that it opens.
        infra_env_id: InfraEnvId,
    },
    /// The user API.
    Operator {
        /// Always true.
        operator: bool,
    },
}

/// Why a token is no good. The token itself is never part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not three base64url parts, not JSON, another algorithm.
    #[error("the token is malformed: it must be a JWT signed with ES256")]
    Malformed,
    /// Made by somebody else, or for a service with another key.
    #[error("the token's signature is not of this service")]
    BadSignature,
    /// Signed by us, but it names neither an InfraEnv nor the operator.
    #[error("the token names neither an InfraEnv nor the operator")]
    NoScope,
}
