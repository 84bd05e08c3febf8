//! The two error bodies of the protocol. Source: docs/protocol/rest-behaviour.md#1.1.

use serde::{Deserialize, Serialize};

/// Thrown by handlers: the code twice, once as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiError {
    /// HTTP status as text.
    pub code: String,
    /// Always empty.
    pub href: String,
    /// HTTP status.
    pub id: i32,
    /// Always `Error`.
    pub kind: String,
    /// Sentences for users: the cause, and a way out.
    pub reason: String,
}

impl ApiError {
    /// The body for `status`.
    pub fn new(status: u16, reason: impl Into<String>) -> Self {
        Self {
            code: status.to_string(),
            href: String::new(),
            id: status.into(),
            kind: "Error".into(),
            reason: reason.into(),
        }
    }
}

/// Routing, authentication, parameter and body problems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InfraError {
    /// HTTP status.
    pub code: i32,
    /// Sentences for users: the cause, and a way out.
    pub message: String,
}
