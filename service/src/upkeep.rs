//! Records metrics, and folds them, which otherwise grow with every request until a scrape.

use std::time::Duration;

use anyhow::{Context, Result};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

const INTERVAL: Duration = Duration::from_secs(5);

/// Upper bounds of the buckets of all histograms, seconds. Buckets of replicas can be added up; quantiles cannot.
const SECONDS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// Records the metrics of this process from now on.
///
/// # Errors
/// Fails if they are recorded already.
pub fn recorder() -> Result<PrometheusHandle> {
    PrometheusBuilder::new()
        .set_buckets(&SECONDS)?
        .install_recorder()
        .context("metrics cannot be recorded")
}

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
