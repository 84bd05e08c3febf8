//! Every answer that is not what was asked for. The two shapes are the protocol's (docs/protocol/rest-behaviour.md#1.1).

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use muster_api::error::{ApiError, InfraError};

/// A refusal, with the words that help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Thrown by a handler: `{"code":"404","href":"","id":404,"kind":"Error","reason":"..."}`.
    Handler(StatusCode, String),
    /// Routing, authentication, parameters, bodies: `{"code":404,"message":"..."}`.
    Framework(StatusCode, String),
}

impl Problem {
    /// 400 for a parameter or a body.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::Framework(StatusCode::BAD_REQUEST, message.into())
    }

    /// 400 thrown by a handler after the body was understood.
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::Handler(StatusCode::BAD_REQUEST, reason.into())
    }

    /// 401.
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Self::Framework(StatusCode::UNAUTHORIZED, message.into())
    }

    /// 404 for something that was named by the caller.
    pub fn not_found(what: impl std::fmt::Display) -> Self {
        Self::Handler(StatusCode::NOT_FOUND, format!("{what} was not found"))
    }

    /// 409.
    pub fn conflict(reason: impl Into<String>) -> Self {
        Self::Handler(StatusCode::CONFLICT, reason.into())
    }

    /// 500; details are in the log, under the request's id.
    pub fn internal() -> Self {
        Self::Handler(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the service failed to do this; its log says why, under this answer's X-Request-ID".into(),
        )
    }

    /// 503.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::Handler(StatusCode::SERVICE_UNAVAILABLE, reason.into())
    }

    /// Its words.
    pub fn reason(&self) -> &str {
        match self {
            Self::Handler(_, reason) | Self::Framework(_, reason) => reason,
        }
    }

    /// Its HTTP status.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Handler(status, _) | Self::Framework(status, _) => *status,
        }
    }
}

/// What became of a change of something that others may have deleted in between, which is no failure.
///
/// # Errors
/// Any other than 404.
pub fn unless_gone<T>(outcome: Result<T, Problem>) -> Result<(), Problem> {
    match outcome {
        Ok(_) => Ok(()),
        Err(problem) if problem.status() == StatusCode::NOT_FOUND => Ok(()),
        Err(problem) => Err(problem),
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = match self {
            Self::Handler(status, reason) => {
                (status, Json(ApiError::new(status.as_u16(), reason))).into_response()
            }
            Self::Framework(status, message) => (
                status,
                Json(InfraError {
                    code: i32::from(status.as_u16()),
                    message,
                }),
            )
                .into_response(),
        };
        if response.status() == StatusCode::SERVICE_UNAVAILABLE {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}
