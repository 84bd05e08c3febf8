//! The bridge from start to end: a client, the kinds that it needs, the lease, the controllers.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio_util::sync::CancellationToken;

use super::error::words;
use super::lead::{Lead, alone};
use super::lease::Terms;
use super::{Context, kinds};
use muster_operations::bridge::BridgeStatus;
use muster_operations::{Operations, now};

/// How often it is looked whether kinds that are missing have come.
const LOOKING: Duration = Duration::from_secs(5);

/// How the bridge reaches its Kubernetes API.
pub struct Bridge {
    /// To the API server.
    pub client: Client,
    /// Where the lease is and how this replica is called in it; `None` where no other replica can be.
    pub lease: Option<(String, String)>,
}

/// Runs until `stop`.
pub async fn run(app: Arc<Operations>, bridge: Bridge, stop: CancellationToken) {
    let Bridge { client, lease } = bridge;
    tokio::select! {
        () = kinds_known(&app, &client) => {}
        () = stop.cancelled() => return,
    }
    let work = |stop| {
        let context = Arc::new(Context::new(client.clone(), app.clone()));
        super::run(context, stop)
    };
    match lease {
        None => alone(&app.bridge, stop, work).await,
        Some((namespace, me)) => {
            Lead::new(client.clone(), &namespace, me, Terms::default())
                .run(&app.bridge, stop, work)
                .await;
        }
    }
}

/// Waits until the API server knows all kinds.
async fn kinds_known(app: &Operations, client: &Client) {
    loop {
        let before = app.bridge.status();
        match kinds::lacking(client).await {
            Ok(None) => return,
            Ok(Some(what)) => app.bridge.set(BridgeStatus::LacksKinds(what)),
            Err(error) => app.bridge.unreachable(now(), words(&error)),
        }
        let standing = app.bridge.status();
        if std::mem::discriminant(&before) != std::mem::discriminant(&standing) {
            tracing::warn!("custom resources wait: {standing}");
        }
        tokio::time::sleep(LOOKING).await;
    }
}
