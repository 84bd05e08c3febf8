//! Effects after commit: what a stored change asks for is done here, also when the process died in between.

use std::sync::Arc;
use std::time::Duration;

use muster_api::ids::InfraEnvId;
use muster_store::{OutboxEntry, StoreError, Subject};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::http::problem::Problem;
use crate::infra_envs::chain;

/// Entries taken at once.
const BATCH: u32 = 200;

/// How long an entry is ours; when we die, another replica takes it after that.
const CLAIM: Duration = Duration::from_secs(60);

/// Pause when there is nothing to do.
const IDLE: Duration = Duration::from_secs(2);

/// Runs until `stop`.
pub async fn run(app: Arc<App>, stop: CancellationToken) {
    loop {
        // Each write is a transaction of its own, so the work may be dropped between two of them.
        let worked = tokio::select! {
            worked = work(&app) => worked,
            () = stop.cancelled() => return,
        };
        let pause = match worked {
            Ok(true) => Duration::ZERO,
            Ok(false) => IDLE,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "the outbox could not be worked on; trying again");
                IDLE
            }
        };
        tokio::select! {
            () = sleep(pause) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Does a batch; true when there may be more.
async fn work(app: &App) -> Result<bool, StoreError> {
    if !app.store.outbox_waits(app.now()).await? {
        return Ok(false);
    }
    let entries = app.store.take_from_outbox(app.now(), CLAIM, BATCH).await?;
    let mut done = Vec::with_capacity(entries.len());
    for entry in &entries {
        if effect(app, entry).await {
            done.push(entry.id.clone());
        }
    }
    app.store.acknowledge(&done).await?;
    Ok(entries.len() == BATCH as usize)
}

/// What a change asks for; false when it must be tried again.
async fn effect(app: &App, entry: &OutboxEntry) -> bool {
    match entry.subject {
        // The settings that findings depend on may be others now.
        Subject::InfraEnv(id) => match judge_anew(app, id).await {
            Ok(()) => true,
            Err(problem) if problem.status() == http::StatusCode::NOT_FOUND => true,
            Err(problem) => {
                tracing::warn!(infra_env.id = %id, ?problem, "its hosts could not be judged anew; trying again");
                false
            }
        },
        // Its hosts see each other in another light now, or have to be let go.
        Subject::Cluster(id) => match app.hosts.cluster_changed(app, id).await {
            Ok(()) => true,
            Err(problem) => {
                tracing::warn!(cluster.id = %id, ?problem, "its hosts could not be judged anew; trying again");
                false
            }
        },
        // Nothing outside of the database follows from a host's change: its readers ask for it.
        Subject::Host { .. } => true,
    }
}

/// By the settings as they are stored now: another replica may have written them, and nobody asks a second time.
async fn judge_anew(app: &App, id: InfraEnvId) -> Result<(), Problem> {
    app.infra_envs.refresh(id).await?;
    app.hosts.infra_env_changed(app, id).await
}
