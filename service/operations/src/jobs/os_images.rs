//! Checks the files of OS images, and watches them.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::Operations;

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    operations.os_images.watch(&stop).await;
}
