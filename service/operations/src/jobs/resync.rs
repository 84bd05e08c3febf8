//! Receives the changes of other replicas, and lists InfraEnvs and clusters periodically while that is not possible.

use std::sync::Arc;
use std::time::Duration;

use muster_store::{StoreError, Subject};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::Operations;

/// Interval between two lists while changes of other replicas are not received. Hosts are handled through the outbox.
const RESYNC_INTERVAL: Duration = Duration::from_secs(30);

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    tokio::select! {
        never = operations.store.receive_notifications() => match never {},
        () = resync(&operations) => {}
        () = stop.cancelled() => {}
    }
}

async fn resync(operations: &Operations) {
    let mut ticks = interval(RESYNC_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if !operations.store.has_notifications()
            && operations.changes.has_subscribers()
            && let Err(error) = publish_all(operations).await
        {
            tracing::debug!(%error, "changes of other replicas cannot be read; trying again");
        }
    }
}

async fn publish_all(operations: &Operations) -> Result<(), StoreError> {
    let changes = &operations.changes;
    for infra_env in operations.infra_envs.list(None).await? {
        changes.publish(Subject::InfraEnv(infra_env.id), infra_env.version);
    }
    for stored in operations.clusters.list(true).await? {
        changes.publish(Subject::Cluster(stored.cluster.id), stored.cluster.version);
    }
    Ok(())
}
