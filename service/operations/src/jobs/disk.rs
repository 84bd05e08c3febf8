//! Maintains the disk of the database: keeps its reserve, and deletes dispensable data if it is full.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use super::uploads;
use crate::Operations;
use crate::disk::Disk;

const INTERVAL: Duration = Duration::from_secs(20);

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let Some(disk) = operations.disk.clone() else {
        return stop.cancelled().await;
    };
    let mut ticks = interval(INTERVAL);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.cancelled() => return,
        }
        if disk.is_replaced() {
            tracing::error!(
                folder = %disk.folder().display(),
                "the database's file was removed or replaced while it is in use: what is written now is lost at the next start; stop the \
                 service, put the file back, or restore a backup"
            );
        }
        // The file system may hang: that holds up only this job.
        let minded = disk.clone();
        let minded = tokio::task::spawn_blocking(move || {
            minded.keep_reserve()?;
            Ok::<_, std::io::Error>(minded.space()?.is_used_up())
        });
        match minded.await {
            Ok(Ok(false)) => {}
            Ok(Ok(true)) => free_some(&operations, &disk).await,
            Ok(Err(error)) => {
                tracing::warn!(%error, folder = %disk.folder().display(), "the space of the disk is not known")
            }
            Err(error) => tracing::warn!(%error, "the space of the disk is not known"),
        }
    }
}

/// Deletes remains of interrupted uploads. The reserve is removed only if that needs it.
async fn free_some(operations: &Operations, disk: &Disk) {
    if uploads::discard_all_but_running(operations).await {
        return;
    }
    match disk.give_up_reserve() {
        Ok(true) => {
            uploads::discard_all_but_running(operations).await;
        }
        Ok(false) => {}
        Err(error) => tracing::warn!(%error, "the reserve cannot be given up"),
    }
}
