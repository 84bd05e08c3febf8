//! Hears what other replicas change, so that hosts can be kept in memory between their polls.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::app::App;

/// Runs until `stop`.
pub async fn run(app: Arc<App>, stop: CancellationToken) {
    tokio::select! {
        never = app.store.follow_changes() => match never {},
        () = stop.cancelled() => {}
    }
}
