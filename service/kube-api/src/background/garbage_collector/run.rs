//! The loop of the garbage collector.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::containers::{empty_definition, empty_namespace};
use super::owners::{check_dependents, check_owners, release_owner};
use super::work::{Work, enqueue};
use crate::error::Result;
use crate::object;
use crate::read::Projection;
use crate::server::Server;
use crate::storage::{Changes, Revision};
use crate::write::{FOREGROUND, ORPHAN};

/// Wait before failed work is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Collects garbage until the server stops.
pub async fn run(server: Arc<Server>) {
    let mut growth = server.watch_cache.subscribe();
    let mut queue = BTreeSet::new();
    let (mut history, mut cursor) = (None, 0);
    loop {
        // At the start, and when the database has lost revisions that were collected or were to be.
        while history != Some(server.watch_cache.history()) {
            (history, cursor) = (Some(server.watch_cache.history()), server.watch_cache.latest());
            if let Err(error) = enqueue_existing(&server, &mut queue).await {
                tracing::warn!(%error, "objects with owners cannot be read; trying again");
                history = None;
                tokio::select! {
                    () = server.stop.cancelled() => return,
                    () = tokio::time::sleep(RETRY_INTERVAL) => {}
                }
            }
        }
        let mut failed = BTreeSet::new();
        for work in std::mem::take(&mut queue) {
            if let Err(error) = carry_out(&server, &work).await {
                tracing::warn!(%error, ?work, "collecting failed; trying again");
                failed.insert(work);
            }
        }
        let has_failed = !failed.is_empty();
        queue = failed;
        match next_changes(&server, cursor).await {
            Ok(changes) if changes.to == cursor => {}
            Ok(changes) => {
                cursor = changes.to;
                changes
                    .found
                    .iter()
                    .for_each(|change| enqueue(change, &mut queue));
                continue;
            }
            Err(error) => tracing::warn!(%error, "changes cannot be read; trying again"),
        }
        tokio::select! {
            () = server.stop.cancelled() => return,
            () = tokio::time::sleep(RETRY_INTERVAL), if has_failed => {}
            grown = growth.changed() => if grown.is_err() { return },
        }
    }
}

/// Enqueues everything that may have become garbage while no collector ran.
async fn enqueue_existing(server: &Server, queue: &mut BTreeSet<Work>) -> Result<()> {
    queue.extend(server.storage.owned().await?.into_iter().map(Work::Owned));
    let waiting = server.storage.holding([FOREGROUND, ORPHAN]).await?;
    queue.extend(waiting.into_iter().map(Work::Owner));
    let containers = [
        ("", "namespaces", Work::Namespace as fn(String) -> Work),
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            Work::Definition,
        ),
    ];
    for (group, plural, work) in containers {
        let request = server.internal_request(group, plural, "")?;
        let listed = server.selected(&request, &Projection::Objects).await?;
        let terminating = listed
            .objects
            .iter()
            .filter(|object| object::is_terminating(object));
        queue.extend(terminating.map(|object| work(object::name(object).to_owned())));
    }
    Ok(())
}

/// Some or all changes after `cursor`.
async fn next_changes(server: &Server, cursor: Revision) -> Result<Changes> {
    match server.recent_changes(cursor) {
        Some(recent) => Ok(recent),
        None => server.older_changes(cursor).await,
    }
}

async fn carry_out(server: &Server, work: &Work) -> Result<()> {
    match work {
        Work::Owned(key) => check_owners(server, key).await,
        Work::Owner(key) => release_owner(server, key).await,
        Work::Gone(uid) => check_dependents(server, uid).await,
        Work::Namespace(name) if name.is_empty() => Ok(()),
        Work::Namespace(name) => empty_namespace(server, name).await,
        Work::Definition(name) => empty_definition(server, name).await,
    }
}
