//! Sends `DeadlinePassed` to hosts after their `due_at`. They are found by an index.

use std::sync::Arc;
use std::time::Duration;

use muster_core::lifecycle::host::HostEvent;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{Operations, chain};

/// Keys of hosts read at once.
const BATCH: u32 = 128;

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

/// Handles all due hosts, page by page, and returns the time until the next deadline. Hosts that fail are found again
/// later.
pub(crate) async fn work(operations: &Operations) -> Result<Duration, muster_store::StoreError> {
    if operations.outages.is_in_doubt() {
        operations.outages.beat(&operations.store).await?;
    }
    let started = operations.now();
    let mut after = None;
    let mut lag = 0;
    loop {
        let (due, more) = operations.store.due_hosts(started, after.as_ref(), BATCH).await?;
        lag = lag.max(
            due.first()
                .map_or(0, |host| (started - host.due_at).num_seconds()),
        );
        let keys: Vec<_> = due.iter().map(|host| (host.infra_env_id, host.host_id)).collect();
        let handled = operations.hosts.apply_to_all(&keys, &HostEvent::DeadlinePassed);
        if let Err(error) = handled.await {
            tracing::debug!(error = chain(&error), "not all deadlines were handled");
        }
        after = more;
        if after.is_none() {
            break;
        }
    }
    metrics::gauge!("muster_deadline_lag_seconds").set(lag as f64);
    let wait = match operations.store.next_due().await? {
        // A host that was due before failed, or its row cannot be read.
        Some(at) if at <= started => LONGEST_SLEEP,
        Some(at) => (at - operations.now()).to_std().unwrap_or_default(),
        None => LONGEST_SLEEP,
    };
    Ok(wait.clamp(Duration::from_millis(50), LONGEST_SLEEP))
}
