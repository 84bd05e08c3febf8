//! Errors of reconciles, sorted by what follows. Source: docs/protocol/kube-controllers.md#0 (error
//! classification).

use std::time::Duration;

use muster_core::rules::input::Invalid;
use muster_core::text::chain;

/// An error of a reconcile, as [`drive`](crate::drive::drive) needs it.
pub trait Failure: std::error::Error + From<Error> + Send + 'static {
    /// True if the object requests something impossible: its conditions show that, and nothing is tried again
    /// until something changes.
    fn is_input(&self) -> bool;

    /// True when another wrote the object since it was read.
    fn is_conflict(&self) -> bool;
}

/// A reconcile that did not do what it should. No text holds a secret value.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The Kubernetes API refused, or does not answer.
    #[error("the Kubernetes API: {}", words(.0))]
    Kube(#[from] kube::Error),
    /// The object requests something impossible; the text is for its writer.
    #[error("{0}")]
    Input(String),
    /// Something that should not happen, and may pass.
    #[error("{0}")]
    Internal(String),
    /// The reconcile took longer than this.
    #[error("not done within {} s", .0.as_secs())]
    Deadline(Duration),
}

impl Failure for Error {
    fn is_input(&self) -> bool {
        match self {
            Self::Input(_) => true,
            Self::Kube(_) | Self::Internal(_) | Self::Deadline(_) => false,
        }
    }

    fn is_conflict(&self) -> bool {
        match self {
            Self::Kube(kube::Error::Api(status)) => status.code == 409,
            Self::Kube(_) | Self::Input(_) | Self::Internal(_) | Self::Deadline(_) => false,
        }
    }
}

impl Error {
    /// True when the Kubernetes API has no such object.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Kube(kube::Error::Api(status)) if status.code == 404)
    }
}

/// True if this service lacks the rights for its request.
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

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::Input(invalid.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn answered(code: u16) -> Error {
        Error::Kube(kube::Error::Api(Box::new(Status {
            code,
            ..Status::default()
        })))
    }

    #[test]
    fn what_the_writer_of_an_object_must_mend_is_input_and_all_else_is_tried_again() {
        assert!(Error::Input("x".into()).is_input());
        assert!(Error::from(Invalid::new("x", "y")).is_input());
        for code in [404, 409, 500] {
            assert!(!answered(code).is_input(), "{code}");
        }
    }

    #[test]
    fn a_conflict_and_an_absent_object_are_told_apart() {
        assert!(answered(409).is_conflict() && !answered(409).is_absent());
        assert!(answered(404).is_absent() && !answered(404).is_conflict());
    }
}
