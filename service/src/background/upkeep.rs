//! What must be done from time to time, whoever asks for it: the recorder of metrics is emptied, which otherwise grows with every request
//! until somebody scrapes; uploads of logs that nobody will finish are cleared away.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// How often metrics are folded.
const EVERY: Duration = Duration::from_secs(5);

/// How often unfinished uploads are looked for.
const CLEARING: Duration = Duration::from_secs(3600);

/// An upload that is older is not finished any more: a body that brings nothing is given up long before.
const UNFINISHED: TimeDelta = TimeDelta::hours(6);

/// Runs until `stop`.
pub async fn run(app: Arc<App>, stop: CancellationToken) {
    let mut ticks = interval(EVERY);
    let mut clearings = interval(CLEARING);
    loop {
        tokio::select! {
            _ = ticks.tick() => app.metrics.run_upkeep(),
            _ = clearings.tick() => clear_uploads(&app).await,
            () = stop.cancelled() => return,
        }
    }
}

async fn clear_uploads(app: &App) {
    match app.store.discard_unfinished_logs(app.now() - UNFINISHED).await {
        Ok(0) => {}
        Ok(uploads) => tracing::info!(uploads, "unfinished uploads of logs were cleared away"),
        Err(error) => tracing::warn!(%error, "unfinished uploads of logs stay for another hour"),
    }
}
