//! Summarizes the inventories that an earlier release stored without a summary: once, so that the first search need not.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{Operations, chain};

const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Runs until `stop`; most of the time it has nothing to do.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let summarize = async {
        while let Err(error) = operations.hosts.summarize_inventories().await {
            tracing::debug!(
                error = chain(&error),
                "inventories could not be summarized; trying again"
            );
            sleep(RETRY_INTERVAL).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = summarize => {}
        () = stop.cancelled() => {}
    }
}
