//! Writes check-ins down, in one batched statement.

use std::sync::Arc;

use chrono::TimeDelta;
use muster_core::host::facts::SILENCE_LIMIT;
use muster_store::CheckIn;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::check_ins::FLUSH_INTERVAL;
use crate::infra_envs::chain;

/// Runs until `stop`, and once more then, so that a restart knows who was there.
pub async fn run(app: Arc<App>, stop: CancellationToken) {
    let mut ticks = interval(FLUSH_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let stopping = tokio::select! {
            _ = ticks.tick() => false,
            () = stop.cancelled() => true,
        };
        flush(&app).await;
        if stopping {
            return;
        }
    }
}

/// Writes what is not yet written. A failure keeps the notes for the next time.
pub async fn flush(app: &App) {
    let batch = app.check_ins.unwritten();
    if batch.is_empty() {
        return;
    }
    let rows: Vec<CheckIn> = batch
        .iter()
        .map(|((infra_env_id, host_id), seen)| CheckIn {
            infra_env_id: *infra_env_id,
            host_id: *host_id,
            at: seen.at,
            silent_at: seen.at + SILENCE_LIMIT,
            host_clock: seen.host_clock,
            agent_version: seen.agent_version.clone(),
        })
        .collect();
    match app.store.flush_check_ins(&rows).await {
        Ok(_) => app.check_ins.written(&batch, app.now() - TimeDelta::minutes(10)),
        Err(error) => {
            tracing::warn!(error = %chain(&error), hosts = rows.len(), "check-ins could not be written; they are kept and tried again")
        }
    }
}
