//! Waits end: hosts whose `due_at` has come are looked at, found by an index and never by a scan.

use std::sync::Arc;
use std::time::Duration;

use muster_core::host::HostEvent;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::infra_envs::chain;

/// Hosts taken at once.
const BATCH: u32 = 100;

/// The longest sleep: a nearer deadline may be written meanwhile, also by another replica.
const LONGEST: Duration = Duration::from_secs(5);

/// Runs until `stop`.
pub async fn run(app: Arc<App>, stop: CancellationToken) {
    loop {
        // Each write is a transaction of its own, so the work may be dropped between two of them.
        let worked = tokio::select! {
            worked = work(&app) => worked,
            () = stop.cancelled() => return,
        };
        let pause = match worked {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "deadlines could not be read; trying again");
                LONGEST
            }
        };
        tokio::select! {
            () = sleep(pause) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Handles what is due, page by page: hosts that fail are passed over, and found again later. Answers how long nothing else is due.
async fn work(app: &App) -> Result<Duration, muster_store::StoreError> {
    let now = app.now();
    let mut failed = false;
    let mut after = None;
    loop {
        let (due, more) = app.store.due_hosts(now, after.as_ref(), BATCH).await?;
        for host in &due {
            let outcome = app
                .hosts
                .apply(app, host.infra_env_id, host.host_id, HostEvent::DeadlinePassed)
                .await;
            if let Err(problem) = outcome {
                // Gone or busy: it is found again if it is still due.
                tracing::debug!(host.id = %host.host_id, ?problem, "deadline not handled");
                failed = true;
            }
        }
        after = more;
        if after.is_none() {
            break;
        }
    }
    if failed {
        return Ok(LONGEST);
    }
    let next = app.store.next_due().await?;
    let wait = next.map_or(LONGEST, |at| (at - app.now()).to_std().unwrap_or_default());
    Ok(wait.clamp(Duration::from_millis(50), LONGEST))
}
