//! Repeats a read, a decision and a write while other writers are faster.

use muster_store::{StoreError, Subject};

use crate::{OperationError, Result};

const ATTEMPTS: usize = 8;

/// Runs `attempt` until it returns a value; `None` means that the record changed since it was read.
///
/// # Errors
/// Those of `attempt`; [`OperationError::Busy`] after too many attempts.
pub(crate) async fn retry<T, F>(subject: Subject, mut attempt: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    for _ in 0..ATTEMPTS {
        if let Some(done) = attempt().await? {
            return Ok(done);
        }
    }
    Err(OperationError::Busy(subject))
}

/// The outcome of a write for [`retry`]: a version conflict is `None`.
pub(crate) fn unless_conflict<T>(written: Result<T, StoreError>) -> Result<Option<T>> {
    match written {
        Ok(done) => Ok(Some(done)),
        Err(StoreError::Conflict { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
