//! Empties the recorder of metrics, which otherwise grows with every request until somebody scrapes.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// How often.
const EVERY: Duration = Duration::from_secs(5);

/// Runs until `stop`.
pub async fn run(app: Arc<App>, stop: CancellationToken) {
    let mut ticks = interval(EVERY);
    loop {
        tokio::select! {
            _ = ticks.tick() => app.metrics.run_upkeep(),
            () = stop.cancelled() => return,
        }
    }
}
