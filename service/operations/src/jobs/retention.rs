//! Deletes old data once an hour, in batches with pauses between them, and measures the rest.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use muster_store::{Aging, StoreError};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::{Operations, chain};

const INTERVAL: Duration = Duration::from_secs(3600);

/// Age after which boots are of no interest.
const BOOT_REQUESTS: TimeDelta = TimeDelta::days(7);

/// Age after which jobs over many hosts are of no interest.
const HOST_JOBS: TimeDelta = TimeDelta::days(1);

/// Between two batches, so that other writers are not held up.
const PAUSE: Duration = Duration::from_millis(50);

/// Retention times and sizes; `None`: unlimited.
#[derive(Debug, Clone, Copy, Default)]
pub struct Retention {
    pub events: Option<TimeDelta>,
    pub history: Option<TimeDelta>,
    /// Records of hosts, InfraEnvs and clusters after they were deleted.
    pub deleted: Option<TimeDelta>,
    pub logs: Option<TimeDelta>,
    /// Bytes of all logs together.
    pub log_bytes: Option<i64>,
    /// Entries of the audit.
    pub audit: Option<u32>,
}

impl Retention {
    fn of(&self, what: Aging) -> Option<TimeDelta> {
        match what {
            Aging::Events => self.events,
            Aging::History => self.history,
            Aging::Logs => self.logs,
            Aging::BootRequests => Some(BOOT_REQUESTS),
            Aging::HostJobs => Some(HOST_JOBS),
            Aging::Sessions | Aging::Links => Some(TimeDelta::zero()),
            Aging::Hosts | Aging::InfraEnvs | Aging::Clusters => self.deleted,
        }
    }
}

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let hourly = async {
        loop {
            ticks.tick().await;
            if let Err(error) = tidy(&operations).await {
                tracing::warn!(error = %chain(&error), "what is old stays for another hour");
            }
            measure(&operations).await;
        }
    };
    // Each batch is a transaction of its own, so the work may be dropped between two of them.
    tokio::select! {
        () = hourly => {}
        () = stop.cancelled() => {}
    }
}

/// Deletes all data that is old now.
pub(crate) async fn tidy(operations: &Operations) -> Result<(), StoreError> {
    let Operations { store, retention, .. } = operations;
    for what in Aging::ALL {
        let Some(age) = retention.of(what) else { continue };
        let before = operations.now() - age;
        let mut deleted = 0;
        loop {
            let (rows, more) = store.delete_old(what, before).await?;
            deleted += rows;
            if !more {
                break;
            }
            sleep(PAUSE).await;
        }
        if deleted > 0 {
            tracing::info!(table = what.table(), rows = deleted, "old rows were deleted");
        }
    }
    if let Some(total) = retention.log_bytes {
        let deleted = store.trim_logs(total).await?;
        if deleted > 0 {
            tracing::info!(
                uploads = deleted,
                "the oldest logs were deleted: all together were too large"
            );
        }
    }
    store.give_space_back().await
}

/// For `/metrics`: counting is too expensive for each request.
async fn measure(operations: &Operations) {
    for what in Aging::ALL {
        if let Ok(rows) = operations.store.count_rows(what).await {
            metrics::gauge!("muster_table_rows", "table" => what.table()).set(rows as f64);
        }
    }
    if let Ok((whole, logs)) = operations.store.sizes().await {
        metrics::gauge!("muster_database_bytes").set(whole as f64);
        metrics::gauge!("muster_log_bytes").set(logs as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::world::{MINUTE, World};

    #[tokio::test]
    async fn a_deleted_host_goes_after_its_time_and_others_stay() {
        let world = World::new().await;
        let (pooled, installing) = world.hosts().await;
        let Operations { hosts, store, .. } = &*world.operations;
        hosts.delete(pooled.infra_env_id, pooled.id).await.unwrap();
        for (rows, time) in [(2, TimeDelta::hours(72) - MINUTE), (1, MINUTE * 2)] {
            world.clocks.pass(time);
            world.beat().await;
            tidy(&world.operations).await.unwrap();
            assert_eq!(store.count_rows(Aging::Hosts).await.unwrap(), rows);
        }
        assert!(
            store
                .host_was_deleted(pooled.infra_env_id, pooled.id)
                .await
                .unwrap()
        );
        assert!(
            hosts
                .exists(installing.infra_env_id, installing.id)
                .await
                .unwrap()
        );
        // Without a limit everything is kept.
        assert!(store.count_rows(Aging::History).await.unwrap() > 0);
    }
}
