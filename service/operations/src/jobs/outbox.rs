//! Runs the effects of stored changes, also of those whose writer died after the commit.

use std::sync::Arc;
use std::time::Duration;

use muster_api::ids::InfraEnvId;
use muster_store::{OutboxEntry, OutboxScope, StoreError, Subject};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{Operations, Result, chain, now, unless_missing};

/// Entries read at once.
const BATCH: u32 = 200;

/// An entry is claimed for this long; if this replica dies, another one takes it then.
const CLAIM: Duration = Duration::from_secs(60);

/// Between two reads of the outbox without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// After hosts were validated anew: what many hosts of a cluster do at the same time is one look at the cluster, not many.
const REST: Duration = Duration::from_secs(2);

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let mut rest_ends = Instant::now();
    loop {
        // Each write is a transaction of its own, so the work may be dropped between two of them.
        let worked = tokio::select! {
            worked = work(&operations) => worked,
            () = stop.cancelled() => return,
        };
        let worked = worked.unwrap_or_else(|error| {
            tracing::warn!(error = %chain(&error), "the outbox could not be worked on; trying again");
            Batch::default()
        });
        if worked.validated {
            rest_ends = Instant::now() + REST;
        }
        if worked.more {
            continue;
        }
        let soon = async {
            operations.changes.outbox_filled().await;
            sleep_until(rest_ends).await;
        };
        tokio::select! {
            () = soon => {}
            () = sleep(POLL_INTERVAL) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// The outcome of one batch.
#[derive(Default)]
struct Batch {
    more: bool,
    /// True when hosts were validated.
    validated: bool,
}

async fn work(operations: &Operations) -> Result<Batch, StoreError> {
    let scope = scope(operations);
    if !operations.store.outbox_waits(now(), scope).await? {
        return Ok(Batch::default());
    }
    let entries = operations
        .store
        .take_from_outbox(now(), CLAIM, BATCH, scope)
        .await?;
    let mut done = Vec::with_capacity(entries.len());
    let mut validated = false;
    for entry in &entries {
        validated |= !matches!(entry.subject, Subject::Host { .. });
        if effect(operations, entry).await {
            done.push(entry.id.clone());
        }
    }
    operations.store.acknowledge(&done).await?;
    Ok(Batch {
        more: entries.len() == BATCH as usize,
        validated,
    })
}

/// With a bridge, changes of hosts are for the replica whose controllers run, and wait while there is none.
fn scope(operations: &Operations) -> OutboxScope {
    if operations.bridge.is_on() && !operations.changes.has_subscribers() {
        OutboxScope::NotHosts
    } else {
        OutboxScope::All
    }
}

/// Runs the effect of one change; false when it must be tried again.
async fn effect(operations: &Operations, entry: &OutboxEntry) -> bool {
    match entry.subject {
        // Settings that findings depend on may have changed.
        Subject::InfraEnv(id) => match unless_missing(validate_hosts(operations, id).await) {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(infra_env.id = %id, error = chain(&error), "its hosts could not be validated; trying again");
                false
            }
        },
        // What its hosts know of each other changed, or they have to be released.
        Subject::Cluster(id) => match operations.hosts.cluster_changed(id).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(cluster.id = %id, error = chain(&error), "its hosts could not be validated; trying again");
                false
            }
        },
        Subject::Host { infra_env_id, id } => {
            operations
                .changes
                .publish_from_outbox((infra_env_id, id), entry.version);
            true
        }
    }
}

/// Validates with the settings as they are stored now: another replica may have written them, and the entry is not repeated.
async fn validate_hosts(operations: &Operations, id: InfraEnvId) -> Result<()> {
    operations.infra_envs.refresh(id).await?;
    operations.hosts.infra_env_changed(id).await
}
