//! Encrypts at the start all values that are stored plain or under an older key, in small transactions with pauses
//! between them.

use std::sync::Arc;
use std::time::Duration;

use muster_store::{Resealed, StoreError};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::until_done;
use crate::{Operations, chain};

/// Values in one transaction.
const BATCH: usize = 50;

/// Between two batches, so that other writers are not held up.
const PAUSE: Duration = Duration::from_millis(50);

/// Values between two lines in the log.
const SHOWN_EVERY: usize = 5000;

/// Runs until `stop`; most of the time it has nothing to do.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    // Each batch is a transaction of its own, so the work may be dropped between two of them.
    until_done(
        &stop,
        || reseal(&operations),
        |error| {
            tracing::warn!(error = %chain(error), "encrypting stored secrets is tried again in a minute");
        },
    )
    .await;
}

/// Stores values again that are not stored as the key file requires.
pub(crate) async fn reseal(operations: &Operations) -> Result<(), StoreError> {
    let store = &operations.store;
    let stale = store.stale_values().await?;
    let (seals, values) = (store.vault().seals(), stale.len());
    if values > 0 {
        tracing::info!(
            values,
            encrypted = seals,
            "secrets are stored again in the background"
        );
    }
    let mut all = Resealed::default();
    for (number, batch) in stale.chunks(BATCH).enumerate() {
        all += store.reseal(batch).await?;
        let before = number * BATCH;
        if (before + BATCH) / SHOWN_EVERY > before / SHOWN_EVERY {
            tracing::info!(done = all.done, of = values, "secrets are being stored again");
        }
        sleep(PAUSE).await;
    }
    if !store.vault().has_keys() {
        return Ok(());
    }
    let erased = store.finish_resealing(all).await?;
    if all.unreadable > 0 {
        tracing::error!(
            values = all.unreadable,
            "values cannot be decrypted and stay; keys before the first one stay in use"
        );
    } else if seals {
        tracing::info!(
            values = all.done,
            "secrets are encrypted, and only the first key in the file of --secrets-key is in use"
        );
    } else {
        tracing::info!(values = all.done, "secrets are plain, and no key is in use");
    }
    if !erased {
        tracing::warn!(
            "the database's file is too large to be rewritten while it is in use, and may hold plain secrets in free pages: stop the service, \
             muster backup, and start it on what muster restore makes of that"
        );
    }
    Ok(())
}
