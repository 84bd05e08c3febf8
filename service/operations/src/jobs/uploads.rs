//! Deletes uploads of logs that were never finished.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use muster_store::Kind;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use crate::{Operations, now};

const INTERVAL: Duration = Duration::from_secs(3600);

/// Age at which an upload is abandoned: a body that makes no progress is refused long before.
const MAX_AGE: TimeDelta = TimeDelta::hours(6);

/// Age at which an unfinished upload counts as interrupted if space is needed.
const RUNNING: TimeDelta = TimeDelta::minutes(10);

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    if operations.store.kind() == Kind::Sqlite {
        // This process is the only one, and has just begun: no upload is running.
        discard(&operations, TimeDelta::zero()).await;
    }
    let mut ticks = interval(INTERVAL);
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                discard(&operations, MAX_AGE).await;
            }
            () = stop.cancelled() => return,
        }
    }
}

/// Frees space that is needed at once; returns false if uploads could not be deleted.
pub(super) async fn discard_all_but_running(operations: &Operations) -> bool {
    discard(operations, RUNNING).await
}

async fn discard(operations: &Operations, age: TimeDelta) -> bool {
    match operations.store.discard_unfinished_logs(now() - age).await {
        Ok(0) => {}
        Ok(uploads) => tracing::info!(uploads, "unfinished uploads of logs were deleted"),
        Err(error) => {
            tracing::warn!(%error, "unfinished uploads of logs stay for another hour");
            return false;
        }
    }
    true
}
