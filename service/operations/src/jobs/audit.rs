//! Writes who requested which change, in batches.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::{Operations, chain};

const INTERVAL: Duration = Duration::from_secs(1);

/// Runs until `stop`, and writes a last time then.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failed = false;
    loop {
        let stopping = tokio::select! {
            _ = ticks.tick() => false,
            () = stop.cancelled() => true,
        };
        operations.rounds.begin("audit");
        let written = operations.audit.write().await;
        if let Err(error) = &written
            && !failed
        {
            tracing::warn!(error = %chain(error), "the audit could not be written; its entries are kept and tried again");
        }
        failed = written.is_err();
        let lost = operations.audit.take_lost();
        if lost > 0 {
            tracing::warn!(
                entries = lost,
                "entries of the audit are lost: too many waited for the database"
            );
        }
        if stopping {
            let lost = operations.audit.waiting();
            if lost > 0 {
                tracing::warn!(
                    entries = lost,
                    "the last entries of the audit are lost: they could not be written before the end"
                );
            }
            return;
        }
    }
}
