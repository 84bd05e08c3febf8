//! Errors of reconciles that change records, sorted by what follows.

use std::time::Duration;

use muster_controller::error::Failure;
pub use muster_controller::error::{unless_absent, words};
use muster_controller::retry::RETRY_INTERVAL;
use muster_controller::secrets::ReferenceError;
use muster_core::rules::input::Invalid;
use muster_operations::OperationError;
use muster_operations::records::StoreError;

/// A reconcile that did not do what it should. No text holds a secret value.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Controller(#[from] muster_controller::Error),
    /// An operation of the service failed.
    #[error(transparent)]
    Operation(#[from] OperationError),
}

impl Error {
    /// As [`muster_controller::Error::Input`].
    pub fn input(why: String) -> Self {
        Self::Controller(muster_controller::Error::Input(why))
    }

    /// As [`muster_controller::Error::Internal`].
    pub fn internal(why: String) -> Self {
        Self::Controller(muster_controller::Error::Internal(why))
    }
}

impl Failure for Error {
    fn is_input(&self) -> bool {
        match self {
            Self::Controller(error) => error.is_input(),
            Self::Operation(error) => error.is_input(),
        }
    }

    fn is_conflict(&self) -> bool {
        match self {
            Self::Controller(error) => error.is_conflict(),
            Self::Operation(error) => error.is_conflict(),
        }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Controller(error.into())
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Operation(error.into())
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::Controller(invalid.into())
    }
}

/// The reason why the database does not have what a resource requests.
pub enum Refusal {
    /// A user can correct it. With `retry` the resource is reconciled again without a change of its own.
    Input { why: String, retry: Option<Duration> },
    /// The cause may pass.
    Later(Error),
}

impl Refusal {
    /// Returns the refusal of a value in the resource itself. `field_name` translates core's names to names of the
    /// resource.
    pub fn invalid(invalid: &Invalid, field_name: fn(&str) -> String) -> Self {
        Self::Input {
            why: format!("{}: {}", field_name(&invalid.field), invalid.reason),
            retry: None,
        }
    }

    /// Returns the refusal if the object that `field` refers to is missing or wrong.
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
    use muster_api::ids::ClusterId;
    use muster_core::lifecycle::host::{RefusalClass, Refused};
    use muster_operations::records::Subject;

    #[test]
    fn what_the_writer_of_an_object_must_mend_is_input_and_all_else_is_tried_again() {
        let subject = Subject::Cluster(ClusterId::random());
        for input in [
            Error::input("x".into()),
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
        for passing in [corrupt.into(), OperationError::Busy(subject).into()] {
            let passing: Error = passing;
            assert!(!passing.is_input(), "{passing:?}");
        }
    }
}
