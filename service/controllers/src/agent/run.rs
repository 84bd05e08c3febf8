//! Runs the controllers of Agents, their labels and AgentClassifications.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, future, stream};
use kube::runtime::{Controller, reflector};
use muster_controller::debounce::debounced;
use muster_controller::drive::drive;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::lanes::{Lanes, Request, Turns};
use super::lifecycle::creation::{self, Creations};
use super::lifecycle::orphans::Orphans;
use super::reconcile::Reconciler;
use super::spec::token::Tokens;
use super::triggers::Triggers;
use crate::agent_classification;
use crate::agent_labels::Labels;
use crate::context::Context;

/// Agents reconciled at the same time: enough to keep two processors of an API server busy, and 60 a second where a write takes a tenth of
/// a second. More of them would only queue at the API server, before what users request.
const WORKERS: u16 = 6;

/// Additional workers, which do only what users wait for.
const URGENT_WORKERS: u16 = 4;

/// Time for which requests of the normal lane are debounced.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Runs until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let agents = context.agents.clone();
    let (lanes, normal, urgent) = Lanes::new();
    let lanes = Arc::new(lanes);
    let (creations, requested) = Creations::new();
    let labels = Arc::new(Labels::new(lanes.clone()));
    let (infra_envs, infra_env_writer) = reflector::store();
    let (classifications, classification_writer) = reflector::store();
    let (secrets, secret_writer) = reflector::store();
    let (classification_changed, classification_changes) = unbounded_channel();
    let orphans = Arc::new(Orphans::new(context.operations.clone()));
    let triggers = Arc::new(Triggers {
        context: context.clone(),
        orphans: orphans.clone(),
        agents: agents.clone(),
        lanes: lanes.clone(),
        creations: creations.clone(),
    });
    let mut tasks = JoinSet::new();
    // Subscribed before anything is read: no change from here on is missed.
    tasks.spawn(triggers.clone().hosts(context.changes.subscribe_hosts()));
    tasks.spawn(triggers.clone().clusters(context.changes.subscribe_clusters()));
    tasks.spawn(triggers.clone().agents());
    tasks.spawn(triggers.clone().infra_envs(infra_env_writer));
    tasks.spawn(
        triggers
            .clone()
            .classifications(classification_writer, classification_changed),
    );
    tasks.spawn(triggers.clone().secrets(secret_writer));
    tasks.spawn(triggers.clone().joining());
    let reconciler = Arc::new(Reconciler {
        context: context.clone(),
        orphans,
        agents: agents.clone(),
        infra_envs: infra_envs.clone(),
        classifications: classifications.clone(),
        labels: labels.clone(),
        tokens: Tokens::new(context.client.clone(), context.namespaces.clone(), secrets),
        turns: Turns::default(),
        cluster_names: Default::default(),
    });
    let store = agents.store();
    let all_listed = async {
        // Each wait fails only when its task ended, which ends the loop below.
        let _ = store.wait_until_ready().await;
        let _ = infra_envs.wait_until_ready().await;
        let _ = classifications.wait_until_ready().await;
    };
    let is_ready = tokio::select! {
        () = all_listed => true,
        () = stop.cancelled() => false,
    };
    if is_ready {
        tasks.spawn(async move {
            triggers.all_hosts().await;
            future::pending().await
        });
        tasks.spawn(creation::run(reconciler.clone(), lanes, creations, requested));
        let lane = |requests: BoxStream<'static, Request>, workers| {
            let controller = Controller::for_stream(stream::pending(), agents.store());
            let controller = controller.reconcile_on(requests);
            let reconciler = reconciler.clone();
            drive(
                "agent",
                workers,
                controller,
                context.clone(),
                stop.clone(),
                move |agent, _| {
                    let reconciler = reconciler.clone();
                    async move { reconciler.reconcile(agent).await }
                },
            )
        };
        let controllers = future::join3(
            lane(debounced(normal.into_stream(), DEBOUNCE).boxed(), WORKERS),
            lane(urgent.into_stream().boxed(), URGENT_WORKERS),
            agent_classification::run(
                context.clone(),
                agents.clone(),
                classifications,
                classification_changes,
                labels,
                stop.clone(),
            ),
        );
        tokio::select! {
            _ = controllers => {}
            // None of the tasks ends by itself.
            Some(ended) = tasks.join_next() => {
                tracing::error!(?ended, "a part of the controller of Agents ended");
            }
        }
    }
    // Work that is interrupted is found again by the next start.
    tasks.shutdown().await;
}
