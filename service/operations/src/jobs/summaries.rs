//! Summarizes the inventories that an earlier release stored without a summary: once, so that the first search need not.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::until_done;
use crate::{Operations, chain};

/// Runs until `stop`; most of the time it has nothing to do.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let work = || operations.hosts.summarize_inventories();
    until_done(&stop, work, |error| {
        tracing::debug!(
            error = chain(error),
            "inventories could not be summarized; trying again"
        );
    })
    .await;
}
