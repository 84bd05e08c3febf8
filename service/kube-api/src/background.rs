//! Background tasks: reading the changes of other replicas, dropping old ones, compaction, and deletion of expired Events and of garbage.

mod expiry;
pub mod garbage_collector;

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;

use crate::resources::crd;
use crate::server::Server;
use crate::storage::{Revision, StorageError};

/// Replaced versions are kept this long: watches and paged lists reach back so far. Source:
/// `--etcd-compaction-interval`.
const HISTORY: Duration = Duration::from_secs(300);
/// Changes stay in memory for at least this long, and for twice as long at most: watches that are further behind read the database.
const IN_MEMORY: Duration = Duration::from_secs(60);
/// Interval at which a shared database is polled for changes of other replicas.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Wait for a missing change of this process before it is read from the database.
const GAP_WAIT: Duration = Duration::from_millis(20);
/// Events are kept this long after their last repetition. Source: `--event-ttl`.
pub const EVENT_TTL: Duration = Duration::from_secs(3600);
/// Time between two searches for older Events.
const EVENT_SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Brings changes into the watch cache that this process did not make, or that arrived out of order.
pub async fn follow_changes(server: Arc<Server>) {
    let is_shared = server.storage.is_shared();
    loop {
        tokio::select! {
            () = server.stop.cancelled() => return,
            () = server.watch_cache.gap() => {
                // Mostly another task of this process has committed and is about to add its change.
                tokio::time::sleep(GAP_WAIT).await;
                if !server.watch_cache.has_gap() {
                    continue;
                }
            }
            () = tokio::time::sleep(POLL_INTERVAL), if is_shared => {}
        }
        while let Err(error) = catch_up(&server).await {
            tracing::warn!(%error, "changes of other replicas cannot be read; trying again");
            if !goes_on(&server, POLL_INTERVAL).await {
                return;
            }
        }
    }
}

/// Reads all changes that the watch cache does not have.
async fn catch_up(server: &Server) -> Result<(), StorageError> {
    let mut read_to = server.watch_cache.latest();
    loop {
        let changes = server.storage.changes_after(read_to).await?;
        if changes.to == read_to {
            return check_history(server, read_to).await;
        }
        // Meanwhile this process may have written more.
        read_to = changes.to.max(server.watch_cache.latest());
        let declares_resource = changes
            .found
            .iter()
            .any(|change| &*change.key.resource == crd::STORAGE_NAME);
        server.watch_cache.add_stored(changes.found);
        if declares_resource {
            server.reload_registry().await;
        }
    }
}

/// Starts a new history when the database has fewer revisions than were read from it: it was restored, or a replica without the last ones
/// took over.
async fn check_history(server: &Server, read_to: Revision) -> Result<(), StorageError> {
    let (revision, _) = server.storage.revisions().await?;
    if revision < read_to {
        server.watch_cache.begin_anew(revision);
        server.reload_registry().await;
    }
    Ok(())
}

/// Reads the CRDs again after each change of one: its writer may have been cancelled before it did.
pub async fn follow_definitions(server: Arc<Server>) {
    loop {
        tokio::select! {
            () = server.stop.cancelled() => return,
            () = server.definitions_changed.notified() => server.reload_registry().await,
        }
    }
}

/// Deletes Events that were not repeated for [`EVENT_TTL`].
pub async fn expire_events(server: Arc<Server>) {
    while goes_on(&server, EVENT_SWEEP_INTERVAL).await {
        match server.expire_events(Utc::now() - EVENT_TTL).await {
            Ok(0) => {}
            Ok(expired) => tracing::debug!(expired, "old Events were deleted"),
            Err(error) => tracing::warn!(%error, "old Events cannot be deleted; trying again later"),
        }
    }
}

/// Forgets changes that are older than [`IN_MEMORY`].
pub async fn forget_changes(server: Arc<Server>) {
    let mut revision = server.watch_cache.latest();
    while goes_on(&server, IN_MEMORY).await {
        server.watch_cache.forget(revision);
        revision = server.watch_cache.latest();
    }
}

/// Compacts revisions older than [`HISTORY`].
pub async fn compact_history(server: Arc<Server>) {
    let mut revision = server.watch_cache.latest();
    while goes_on(&server, HISTORY).await {
        if let Err(error) = server.storage.compact(revision).await {
            tracing::warn!(%error, "old versions cannot be compacted; trying again later");
        }
        revision = server.watch_cache.latest();
    }
}

/// Waits; false when the server stops meanwhile.
async fn goes_on(server: &Server, wait: Duration) -> bool {
    let waited = server.stop.run_until_cancelled(tokio::time::sleep(wait)).await;
    waited.is_some()
}
