//! Defines sessions of operators, an addition to the protocol.

use serde::{Deserialize, Serialize};

use crate::ids::InfraEnvId;

/// How a session begins: by the operator's token in `Authorization`, or by a link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SessionCreateParams {
    /// The secret of a link, in a request without a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// Who sends a request, and what is open to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Session {
    /// False: the service requires no tokens, and everything is open to everybody.
    pub requires_tokens: bool,
    /// Name of the operator's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Id of the operator's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// Id of the session; left out: the request carries the token itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// It changes nothing.
    pub read_only: bool,
    /// The InfraEnv that alone is open, with its hosts; left out: everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infra_env_id: Option<InfraEnvId>,
    /// When the session ends, or the token: RFC 3339 with milliseconds; left out: when it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub expires_at: Option<String>,
}

/// What one session can begin with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionLink {
    /// For `link` of the request that begins the session. It is not shown again.
    pub secret: String,
    /// RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub expires_at: String,
}
