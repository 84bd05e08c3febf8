//! Maps every error to an HTTP response. The two shapes are the protocol's (docs/protocol/rest-behaviour.md#1.1).

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use muster_api::error::{ApiError, InfraError};
use muster_core::lifecycle::host::{RefusalClass, Refused};
use muster_core::rules::ignition::DiscoveryError;
use muster_core::rules::input::Invalid;
use muster_operations::bmcs::BmcProblem;
use muster_operations::host_jobs::JobProblem;
use muster_operations::images::boot_scripts::NoScript;
use muster_operations::images::discovery::DiscoveryImageUnavailable;
use muster_operations::images::live::LiveImageUnavailable;
use muster_operations::images::os::NoOsImage;
use muster_operations::logs::LogsRefused;
use muster_operations::records::{StoreError, Subject};
use muster_operations::{OperationError, chain};

/// A refusal and its reason.
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

    /// 404 for something that the caller named.
    pub fn not_found(what: impl std::fmt::Display) -> Self {
        Self::Handler(StatusCode::NOT_FOUND, format!("{what} was not found"))
    }

    /// 404 with a whole sentence.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self::Handler(StatusCode::NOT_FOUND, reason.into())
    }

    /// 409.
    pub fn conflict(reason: impl Into<String>) -> Self {
        Self::Handler(StatusCode::CONFLICT, reason.into())
    }

    /// 500; details are in the log, under the request's id.
    pub fn internal() -> Self {
        Self::Handler(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the service failed to do this; its log gives the reason, under this answer's X-Request-ID"
                .into(),
        )
    }

    /// 503.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::Handler(StatusCode::SERVICE_UNAVAILABLE, reason.into())
    }

    /// The message or reason.
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

impl From<OperationError> for Problem {
    fn from(error: OperationError) -> Self {
        let text = error.to_string();
        match error {
            OperationError::Missing(_) => Self::Handler(StatusCode::NOT_FOUND, text),
            OperationError::Refused(refused) => refused.into(),
            OperationError::Invalid(_) | OperationError::Inhabited { .. } => Self::invalid(text),
            OperationError::Installing { .. }
            | OperationError::OfResource(_)
            | OperationError::NotApproved(_) => Self::conflict(text),
            OperationError::KeyInUse { .. }
            | OperationError::IdInUse { .. }
            | OperationError::Busy(Subject::Host { .. }) => Self::unavailable(text),
            OperationError::Busy(
                Subject::InfraEnv(_) | Subject::Cluster(_) | Subject::Bmc(_) | Subject::Job { .. },
            ) => Self::conflict(text),
            OperationError::Job(problem) => problem.into(),
            OperationError::Bmc(BmcProblem::Missing(_)) => Self::Handler(StatusCode::NOT_FOUND, text),
            OperationError::Bmc(_) => Self::conflict(text),
            OperationError::Store(error) => error.into(),
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused.class {
            // Agents log a refused report and continue, whatever its code; a 500 would blame the service.
            RefusalClass::UserConflict | RefusalClass::NotAccepted => Self::conflict(refused.reason),
            RefusalClass::BadInput => Self::invalid(refused.reason),
        }
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        Self::invalid(invalid.to_string())
    }
}

impl From<JobProblem> for Problem {
    fn from(problem: JobProblem) -> Self {
        let text = problem.to_string();
        match problem {
            JobProblem::Missing(_) => Self::Handler(StatusCode::NOT_FOUND, text),
            JobProblem::Empty | JobProblem::TooMany { .. } => Self::invalid(text),
            JobProblem::Changed { .. }
            | JobProblem::Stale
            | JobProblem::TooManyJobs
            | JobProblem::NoneFailed(_) => Self::conflict(text),
            JobProblem::NotConfirmed { .. } => Self::Handler(StatusCode::UNPROCESSABLE_ENTITY, text),
            JobProblem::BeyondScope { .. } => Self::Framework(StatusCode::FORBIDDEN, text),
            JobProblem::Busy => Self::unavailable(text),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Conflict { .. } => Self::conflict(error.to_string()),
            StoreError::Missing { .. } => Self::Handler(StatusCode::NOT_FOUND, error.to_string()),
            // The text names the column and never a value; it is all that an operator gets to find the record's fault.
            StoreError::Corrupt { .. } => {
                tracing::error!(error = %chain(&error), "a record cannot be read");
                let words = format!("{error}; a newer version wrote it, or it is damaged");
                Self::Handler(StatusCode::INTERNAL_SERVER_ERROR, words)
            }
            _ if error.is_temporary() => {
                tracing::warn!(error = %chain(&error), "the database is not available");
                Self::unavailable(error.to_string())
            }
            _ => {
                tracing::error!(error = %chain(&error), "the database refused");
                Self::internal()
            }
        }
    }
}

impl From<LogsRefused> for Problem {
    fn from(error: LogsRefused) -> Self {
        match error {
            LogsRefused::Busy | LogsRefused::NoSpace { .. } => Self::unavailable(error.to_string()),
            LogsRefused::Store(error) => error.into(),
        }
    }
}

impl From<LiveImageUnavailable> for Problem {
    fn from(error: LiveImageUnavailable) -> Self {
        Self::unavailable(chain(&error))
    }
}

impl From<DiscoveryImageUnavailable> for Problem {
    fn from(error: DiscoveryImageUnavailable) -> Self {
        match error {
            DiscoveryImageUnavailable::NoArchitecture { .. } => Self::conflict(error.to_string()),
            DiscoveryImageUnavailable::Muster(error) => error.into(),
            DiscoveryImageUnavailable::CoreOs(error) => Self::unavailable(error.to_string()),
        }
    }
}

impl From<NoOsImage> for Problem {
    fn from(error: NoOsImage) -> Self {
        match error {
            NoOsImage::Conflict(why) => Self::conflict(why),
            NoOsImage::Later(why) => Self::unavailable(why),
            NoOsImage::Failed(error) => error.into(),
        }
    }
}

impl From<NoScript> for Problem {
    fn from(error: NoScript) -> Self {
        let text = error.to_string();
        match error {
            NoScript::Installed { .. } => Self::Handler(StatusCode::NOT_FOUND, text),
            NoScript::Ambiguous { .. } | NoScript::Unusable(_) => Self::conflict(text),
            NoScript::Unavailable(error) => error.into(),
            NoScript::Store(error) => error.into(),
        }
    }
}

impl From<DiscoveryError> for Problem {
    fn from(error: DiscoveryError) -> Self {
        Self::conflict(error.to_string())
    }
}

impl IntoResponse for Problem {
    /// The problem stays in the response's extensions, for layers that render it in another way.
    fn into_response(self) -> Response {
        let problem = self.clone();
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
        response.extensions_mut().insert(problem);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_cannot_be_read_says_what_is_wrong_with_it() {
        let problem = Problem::from(StoreError::Corrupt {
            table: "hosts",
            id: "a/b".into(),
            column: "state",
            reason: "JSON of another shape, near character 7".into(),
        });
        assert_eq!(problem.status(), StatusCode::INTERNAL_SERVER_ERROR);
        for part in ["hosts", "a/b", "state", "near character 7", "newer version"] {
            assert!(problem.reason().contains(part), "{}", problem.reason());
        }
    }
}
