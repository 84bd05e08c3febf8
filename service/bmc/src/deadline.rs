use std::time::Duration;

use crate::error::BmcError;

/// Ends work that takes longer than `limit`: however slowly a BMC responds, other conversations wait for it.
///
/// # Errors
/// If the work fails, or [`BmcError::Deadline`].
pub(crate) async fn within<T>(
    limit: Duration,
    doing: &str,
    work: impl Future<Output = Result<T, BmcError>>,
) -> Result<T, BmcError> {
    let done = tokio::time::timeout(limit, work).await;
    done.unwrap_or_else(|_| {
        Err(BmcError::Deadline {
            awaited: format!("the end of {doing}"),
            seen: "the BMC answers slowly, or without end".to_owned(),
            after: limit,
        })
    })
}
