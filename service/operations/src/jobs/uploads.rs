//! Deletes uploads of logs that were never finished.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use crate::{Operations, now};

const INTERVAL: Duration = Duration::from_secs(3600);

/// Age at which an upload is abandoned: a body that makes no progress is refused long before.
const MAX_AGE: TimeDelta = TimeDelta::hours(6);

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let mut ticks = interval(INTERVAL);
    loop {
        tokio::select! {
            _ = ticks.tick() => discard(&operations).await,
            () = stop.cancelled() => return,
        }
    }
}

async fn discard(operations: &Operations) {
    match operations.store.discard_unfinished_logs(now() - MAX_AGE).await {
        Ok(0) => {}
        Ok(uploads) => tracing::info!(uploads, "unfinished uploads of logs were deleted"),
        Err(error) => tracing::warn!(%error, "unfinished uploads of logs stay for another hour"),
    }
}
