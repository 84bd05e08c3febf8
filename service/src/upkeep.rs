//! Folds recorded metrics, which otherwise grow with every request until a scrape.

use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

const INTERVAL: Duration = Duration::from_secs(5);

/// Runs until `stop`.
pub async fn run(metrics: PrometheusHandle, stop: CancellationToken) {
    let mut ticks = interval(INTERVAL);
    loop {
        tokio::select! {
            _ = ticks.tick() => metrics.run_upkeep(),
            () = stop.cancelled() => return,
        }
    }
}
