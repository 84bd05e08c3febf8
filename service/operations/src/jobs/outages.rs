//! Beats, so that outages of the reception of polls are detected.

use std::sync::Arc;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::{Operations, chain};

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let Operations { outages, store, .. } = &*operations;
    let mut ticks = interval(outages.pace().interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let beaten = tokio::select! {
            beaten = async {
                ticks.tick().await;
                operations.rounds.begin("heartbeats");
                outages.beat(store).await
            } => beaten,
            () = stop.cancelled() => break,
        };
        if let Err(error) = beaten {
            tracing::warn!(error = %chain(&error), "no host is judged while the database cannot be written");
        }
    }
    if let Err(error) = outages.leave(store).await {
        tracing::warn!(error = %chain(&error), "other replicas wait for this one, which has stopped");
    }
}
