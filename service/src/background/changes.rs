//! Hears what changes, here and in other replicas: hosts can be kept in memory between their polls, the outbox is looked into at once,
//! and the controllers look at what changed.

use std::sync::Arc;
use std::time::Duration;

use muster_store::{StoreError, Subject, Told};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// How often controllers look at all InfraEnvs and clusters while changes of other replicas are not heard. Of hosts the outbox tells.
const DEAF: Duration = Duration::from_secs(30);

/// Runs until `stop`.
pub async fn run(app: Arc<App>, stop: CancellationToken) {
    let told = app.store.told();
    tokio::select! {
        never = app.store.follow_changes() => match never {},
        () = hand_on(&app, told) => {}
        () = make_up(&app) => {}
        () = stop.cancelled() => {}
    }
}

async fn hand_on(app: &App, mut told: UnboundedReceiver<Told>) {
    while let Some(Told { subject, version }) = told.recv().await {
        app.bridge.pushed().tell(subject, version);
        if !matches!(subject, Subject::Host { .. }) {
            app.effects_wait.notify_one();
        }
    }
}

async fn make_up(app: &App) {
    let mut ticks = interval(DEAF);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if !app.store.hears_others()
            && app.bridge.pushed().is_listened_to()
            && let Err(error) = tell_all(app).await
        {
            tracing::debug!(%error, "what other replicas changed cannot be read; trying again");
        }
    }
}

async fn tell_all(app: &App) -> Result<(), StoreError> {
    let pushed = app.bridge.pushed();
    for infra_env in app.infra_envs.list(None).await? {
        pushed.tell(Subject::InfraEnv(infra_env.id), infra_env.version);
    }
    for stored in app.clusters.list(true).await? {
        pushed.tell(Subject::Cluster(stored.cluster.id), stored.cluster.version);
    }
    Ok(())
}
