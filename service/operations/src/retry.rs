//! Repeats a read, a decision and a write while other writers are faster.

use std::time::Duration;

use muster_store::{StoreError, Subject};

use crate::{OperationError, Result, random};

/// Most attempts: their pauses, of [`longest_pause`], last six seconds at most.
const ATTEMPTS: u32 = 20;

/// Attempts without a pause: most often, the other writer had just one change to make.
const AT_ONCE: u32 = 2;

/// Runs `attempt` until it returns a value; `None` means that the record changed since it was read. A random pause
/// before the third and later ones lets two replicas that change the same record in a loop alternate: otherwise the one
/// that is nearer to the database could win every time.
///
/// # Errors
/// Those of `attempt`; [`OperationError::Busy`] after too many attempts.
pub(crate) async fn retry<T, F>(subject: Subject, mut attempt: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    for number in 1..=ATTEMPTS {
        if let Some(done) = attempt().await? {
            return Ok(done);
        }
        if (AT_ONCE..ATTEMPTS).contains(&number) {
            tokio::time::sleep(longest_pause(number).mul_f64(random::fraction())).await;
        }
    }
    Err(OperationError::Busy(subject))
}

/// 10 ms, and twice as much after each attempt up to 400 ms.
fn longest_pause(attempt: u32) -> Duration {
    Duration::from_millis(400.min(10 << attempt.saturating_sub(AT_ONCE).min(6)))
}

/// The outcome of a write for [`retry`]: a version conflict is `None`.
pub(crate) fn unless_conflict<T>(written: Result<T, StoreError>) -> Result<Option<T>> {
    match written {
        Ok(done) => Ok(Some(done)),
        Err(StoreError::Conflict { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
