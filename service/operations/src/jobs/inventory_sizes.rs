//! Measures the size of the inventories of each InfraEnv, for their quota.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::{Operations, chain};

const INTERVAL: Duration = Duration::from_secs(60);

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.cancelled() => return,
        }
        match operations.store.inventory_sizes().await {
            Ok(sizes) => operations.hosts.inventory_quota().set(sizes),
            Err(error) => tracing::debug!(error = chain(&error), "the inventories were not measured"),
        }
    }
}
