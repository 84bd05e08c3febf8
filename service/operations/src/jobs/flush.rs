//! Writes check-ins to the database in one batched statement.

use std::sync::Arc;

use chrono::TimeDelta;
use muster_store::CheckIn;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::hosts::check_ins::flush_interval;
use crate::{Operations, chain};

/// Runs until `stop`, and writes a last time then, so that no poll is lost in a restart.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let mut ticks = interval(flush_interval(operations.hosts.limits().silence()));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let stopping = tokio::select! {
            _ = ticks.tick() => false,
            () = stop.cancelled() => true,
        };
        operations.rounds.begin("check-ins");
        flush(&operations).await;
        if stopping {
            return;
        }
    }
}

/// Writes new check-ins. After a failure they are kept for the next time.
pub(crate) async fn flush(operations: &Operations) {
    let batch = operations.check_ins.unwritten();
    if batch.is_empty() {
        operations.outages.polls_are_written(true);
        return;
    }
    let silence = operations.hosts.limits().silence();
    let rows: Vec<CheckIn> = batch
        .iter()
        .map(|((infra_env_id, host_id), seen)| CheckIn {
            infra_env_id: *infra_env_id,
            host_id: *host_id,
            at: seen.at,
            silent_at: seen.at + silence,
            host_clock: seen.host_clock,
            agent_version: seen.agent_version.clone(),
        })
        .collect();
    let flushed = operations.store.flush_check_ins(&rows).await;
    operations.outages.polls_are_written(flushed.is_ok());
    let unwritten = if flushed.is_ok() { 0 } else { rows.len() };
    metrics::gauge!("muster_check_ins_unwritten").set(unwritten as f64);
    match flushed {
        Ok(_) => operations
            .check_ins
            .written(&batch, operations.now() - TimeDelta::minutes(10)),
        Err(error) => {
            tracing::warn!(error = %chain(&error), hosts = rows.len(), "check-ins could not be written; they are kept and tried again")
        }
    }
}
