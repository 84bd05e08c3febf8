//! Writes the files that machines downloaded to boot, in batches.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::{Operations, chain};

/// A user may be watching a booting machine.
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
        operations.rounds.begin("boot requests");
        let mut written = operations.boot_notes.write(&operations.store).await;
        written = written.and(operations.bmcs.write_reads().await);
        if let Err(error) = &written
            && !failed
        {
            tracing::warn!(error = %chain(error), "requests for boot files could not be written; they are kept and tried again");
        }
        failed = written.is_err();
        if stopping {
            return;
        }
    }
}
