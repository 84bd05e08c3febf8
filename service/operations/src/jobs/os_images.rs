//! Checks the files of OS images and of CoreOS live ISOs, and watches them.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::Operations;

/// Time until live ISOs are checked again: they may have been added or replaced.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let live = async {
        loop {
            operations.discovery.coreos.open_all().await;
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    };
    tokio::select! {
        () = operations.os_images.watch(&stop) => {}
        () = live => {}
    }
}
