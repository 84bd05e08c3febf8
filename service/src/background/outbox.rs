//! Effects after commit: what a stored change asks for is done here, also when the process died in between.

use std::sync::Arc;
use std::time::Duration;

use muster_api::ids::InfraEnvId;
use muster_store::{OutboxEntry, StoreError, Subject, Whose};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::http::problem::{Problem, unless_gone};
use crate::infra_envs::chain;

/// Entries taken at once.
const BATCH: u32 = 200;

/// How long an entry is ours; when we die, another replica takes it after that.
const CLAIM: Duration = Duration::from_secs(60);

/// From one look to the next when nobody tells that there is something to do.
const IDLE: Duration = Duration::from_secs(2);

/// After hosts were judged anew: what many hosts of a cluster do at the same time is one look at the cluster, not many.
const REST: Duration = Duration::from_secs(2);

/// Runs until `stop`.
pub async fn run(app: Arc<App>, stop: CancellationToken) {
    let mut rested = Instant::now();
    loop {
        // Each write is a transaction of its own, so the work may be dropped between two of them.
        let worked = tokio::select! {
            worked = work(&app) => worked,
            () = stop.cancelled() => return,
        };
        let worked = worked.unwrap_or_else(|error| {
            tracing::warn!(error = %chain(&error), "the outbox could not be worked on; trying again");
            Worked::default()
        });
        if worked.judged {
            rested = Instant::now() + REST;
        }
        if worked.more {
            continue;
        }
        let soon = async {
            app.effects_wait.notified().await;
            sleep_until(rested).await;
        };
        tokio::select! {
            () = soon => {}
            () = sleep(IDLE) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// What a look into the outbox found.
#[derive(Default)]
struct Worked {
    /// There may be more.
    more: bool,
    /// Something was done that costs.
    judged: bool,
}

/// Does a batch.
async fn work(app: &App) -> Result<Worked, StoreError> {
    let whose = whose(app);
    if !app.store.outbox_waits(app.now(), whose).await? {
        return Ok(Worked::default());
    }
    let entries = app.store.take_from_outbox(app.now(), CLAIM, BATCH, whose).await?;
    let mut done = Vec::with_capacity(entries.len());
    let mut judged = false;
    for entry in &entries {
        judged |= !matches!(entry.subject, Subject::Host { .. });
        if effect(app, entry).await {
            done.push(entry.id.clone());
        }
    }
    app.store.acknowledge(&done).await?;
    Ok(Worked {
        more: entries.len() == BATCH as usize,
        judged,
    })
}

/// With a bridge, changes of hosts are for the replica whose controllers run; they wait while there is none.
fn whose(app: &App) -> Whose {
    if app.bridge.is_on() && !app.bridge.pushed().is_listened_to() {
        Whose::NotHosts
    } else {
        Whose::All
    }
}

/// What a change asks for; false when it must be tried again.
async fn effect(app: &App, entry: &OutboxEntry) -> bool {
    match entry.subject {
        // The settings that findings depend on may be others now.
        Subject::InfraEnv(id) => match unless_gone(judge_anew(app, id).await) {
            Ok(()) => true,
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
        // Its readers ask for it, but for the controllers.
        Subject::Host { .. } => {
            app.bridge.pushed().tell_once_more(entry.subject, entry.version);
            true
        }
    }
}

/// By the settings as they are stored now: another replica may have written them, and nobody asks a second time.
async fn judge_anew(app: &App, id: InfraEnvId) -> Result<(), Problem> {
    app.infra_envs.refresh(id).await?;
    app.hosts.infra_env_changed(app, id).await
}
