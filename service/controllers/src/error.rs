//! Errors of reconciles, sorted by what follows. Source: docs/protocol/kube-controllers.md#0 (error
//! classification).

use std::time::Duration;

use muster_core::rules::input::Invalid;
use muster_operations::OperationError;
use muster_operations::chain;
use muster_store::StoreError;

use super::retry::RETRY_INTERVAL;
use super::secrets::ReferenceError;

/// A reconcile that did not do what it should. No text holds a secret value.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The Kubernetes API refused, or does not answer.
    #[error("the Kubernetes API: {}", words(.0))]
    Kube(#[from] kube::Error),
    /// An operation of the service failed.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// The object asks for something that cannot be done; the text is for its writer.
    #[error("{0}")]
    Input(String),
    /// Something that should not happen, and may pass.
    #[error("{0}")]
    Internal(String),
    /// The reconcile took longer than this.
    #[error("not done within {} s", .0.as_secs())]
    Deadline(Duration),
}

impl Error {
    /// True when the object asks for what cannot be done: its conditions say so, and nothing is tried again
    /// until something changes.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Input(_) => true,
            Self::Operation(error) => error.is_input(),
            Self::Kube(_) | Self::Internal(_) | Self::Deadline(_) => false,
        }
    }

    /// True when another wrote the object since it was read.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Kube(kube::Error::Api(status)) => status.code == 409,
            Self::Operation(error) => error.is_conflict(),
            Self::Kube(_) | Self::Input(_) | Self::Internal(_) | Self::Deadline(_) => false,
        }
    }

    /// True when the Kubernetes API has no such object.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Kube(kube::Error::Api(status)) if status.code == 404)
    }
}

/// True when this service has no rights to what it asked for.
pub fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

/// The answer of the Kubernetes API; `None`: there is no such object (any more), which is no failure.
///
/// # Errors
/// Any other than 404.
pub fn unless_absent<T>(answered: kube::Result<T>) -> Result<Option<T>, Error> {
    match answered.map_err(Error::from) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error),
    }
}

/// An error of the Kubernetes API on one line.
pub fn words(error: &kube::Error) -> String {
    match error {
        // Its own text prints the whole answer twice.
        kube::Error::Api(status) => format!("{} ({} {})", status.message, status.code, status.reason),
        other => chain(other),
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Operation(error.into())
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::Input(invalid.to_string())
    }
}

/// The reason for which the database is not what a resource asks for.
pub enum Refusal {
    /// A user can correct it. With `retry` the resource is reconciled again without a change of its own.
    Input { why: String, retry: Option<Duration> },
    /// It may pass.
    Later(Error),
}

impl Refusal {
    /// A value of the resource's own is not acceptable. `field_name` translates core's names to those of the
    /// resource.
    pub fn invalid(invalid: &Invalid, field_name: fn(&str) -> String) -> Self {
        Self::Input {
            why: format!("{}: {}", field_name(&invalid.field), invalid.reason),
            retry: None,
        }
    }

    /// The object that `field` refers to is missing or wrong.
    pub fn of_reference(field: &str, error: ReferenceError) -> Self {
        match error {
            ReferenceError::Api { source, .. } => Self::Later((*source).into()),
            error @ (ReferenceError::Missing { .. }
            | ReferenceError::Outside { .. }
            | ReferenceError::Nameless(_)
            | ReferenceError::NoKey { .. }
            | ReferenceError::NotText { .. }) => Self::Input {
                why: format!("{field}: {error}"),
                retry: Some(RETRY_INTERVAL),
            },
        }
    }
}

impl From<OperationError> for Refusal {
    fn from(error: OperationError) -> Self {
        if error.is_input() {
            return Self::Input {
                why: error.to_string(),
                retry: None,
            };
        }
        Self::Later(error.into())
    }
}

impl From<kube::Error> for Refusal {
    fn from(error: kube::Error) -> Self {
        Self::Later(error.into())
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Later(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;
    use muster_api::ids::ClusterId;
    use muster_core::lifecycle::host::{RefusalClass, Refused};
    use muster_store::Subject;

    fn answered(code: u16) -> Error {
        Error::Kube(kube::Error::Api(Box::new(Status {
            code,
            ..Status::default()
        })))
    }

    #[test]
    fn what_the_writer_of_an_object_must_mend_is_input_and_all_else_is_tried_again() {
        let subject = Subject::Cluster(ClusterId::random());
        for input in [
            Error::Input("x".into()),
            OperationError::Invalid(Invalid::new("x", "y")).into(),
            OperationError::Missing(subject).into(),
            OperationError::Refused(Refused {
                class: RefusalClass::UserConflict,
                status: None,
                event: "x",
                reason: "y".into(),
            })
            .into(),
        ] {
            assert!(input.is_input(), "{input:?}");
        }
        let corrupt = StoreError::Corrupt {
            table: "hosts",
            id: "x".into(),
            column: "y",
            reason: "z".into(),
        };
        for passing in [
            corrupt.into(),
            OperationError::Busy(subject).into(),
            answered(409),
            answered(404),
            answered(500),
        ] {
            assert!(!passing.is_input(), "{passing:?}");
        }
    }

    #[test]
    fn a_conflict_and_an_absent_object_are_told_apart() {
        assert!(answered(409).is_conflict() && !answered(409).is_absent());
        assert!(answered(404).is_absent() && !answered(404).is_conflict());
    }
}
