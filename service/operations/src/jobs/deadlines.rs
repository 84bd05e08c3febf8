//! Sends `DeadlinePassed` to hosts whose `due_at` has come. They are found by an index.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use muster_core::lifecycle::host::HostEvent;
use muster_store::Due;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{Operations, chain};

/// Keys of hosts read at once.
const BATCH: u32 = 128;

/// Hosts handled at the same time: as many as the store writes in one transaction. A rack or a cluster falls silent as one.
const AT_ONCE: usize = 32;

/// An earlier deadline may be written during a sleep, also by another replica.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    loop {
        operations.rounds.begin("deadlines");
        // Each write is a transaction of its own, so the work may be dropped between two of them.
        let worked = tokio::select! {
            worked = work(&operations) => worked,
            () = stop.cancelled() => return,
        };
        let pause = match worked {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "deadlines could not be read; trying again");
                LONGEST_SLEEP
            }
        };
        tokio::select! {
            () = sleep(pause) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Handles what is due, page by page, and returns the time until the next deadline. Hosts that fail are found again later.
pub(crate) async fn work(operations: &Operations) -> Result<Duration, muster_store::StoreError> {
    if operations.hearing.is_in_doubt() {
        operations.hearing.beat(&operations.store).await?;
    }
    let started = operations.now();
    let mut failed = false;
    let mut after = None;
    let mut lag = 0;
    loop {
        let (due, more) = operations.store.due_hosts(started, after.as_ref(), BATCH).await?;
        lag = lag.max(
            due.first()
                .map_or(0, |host| (started - host.due_at).num_seconds()),
        );
        let mut handled = stream::iter(due)
            .map(|host| handle(operations, host))
            .buffer_unordered(AT_ONCE);
        while let Some(is_handled) = handled.next().await {
            failed |= !is_handled;
        }
        after = more;
        if after.is_none() {
            break;
        }
    }
    metrics::gauge!("muster_deadline_lag_seconds").set(lag as f64);
    if failed {
        return Ok(LONGEST_SLEEP);
    }
    let next = operations.store.next_due().await?;
    let wait = next.map_or(LONGEST_SLEEP, |at| {
        (at - operations.now()).to_std().unwrap_or_default()
    });
    Ok(wait.clamp(Duration::from_millis(50), LONGEST_SLEEP))
}

/// False when the host is gone or busy: it is found again if it is still due.
async fn handle(operations: &Operations, host: Due) -> bool {
    let outcome = operations
        .hosts
        .apply(host.infra_env_id, host.host_id, HostEvent::DeadlinePassed)
        .await;
    if let Err(error) = &outcome {
        tracing::debug!(host.id = %host.host_id, error = chain(error), "deadline not handled");
    }
    outcome.is_ok()
}
