//! Agents: one custom resource a host. Source: docs/protocol/kube-controllers.md#3, §4 and §5.
//!
//! Hosts come to be by registering, not by anybody's manifest, so what is looked at is a key (namespace and id), which may have an Agent, a
//! host, or both: [`queue`] has the keys, [`reconcile`] looks at one. A look reads the host once, asks nothing of the API server that the
//! watch has shown, and writes what differs: an Agent costs three writes from registration to its inventory.
//!
//! | file | what |
//! |---|---|
//! | `known` | Agents as last seen, without what is large |
//! | `edits`, `membership` | spec to host, decided |
//! | `host_side`, `token` | spec to host, done |
//! | `desired`, `metadata` | the Agent beside its status |
//! | `conditions`, `status`, `inventory`, `links` | its status |
//! | `patch` | what of it is written |
//! | `gone`, `restore` | hosts without Agents, Agents without hosts |
//! | `feed` | what has a key looked at |
//!
//! Where this differs on purpose from what docs/protocol/kube-controllers.md describes:
//!
//! - An Agent is made with its labels, annotations, approval and finalizer, and not changed into that by writes that follow.
//! - A setting that cannot be taken is told in `SpecSynced`, and the others of the same spec are taken nevertheless. A disk that is
//!   chosen before the host has told its disks waits for them.
//! - A machine that is booted into another InfraEnv of the namespace keeps its spec, unless that InfraEnv belongs to another cluster.
//! - `clusterDeploymentName` of a host that is not fit yet waits (`BackendError`) and is followed as soon as the host is known. The label
//!   with the ClusterDeployment's namespace is set when the host is bound, not when it has registered again.
//! - A host that is being added to a cluster can be taken out of it: its installation is cancelled first.
//! - `fencingCredentialsSecretRef` is an `InputError`: fencing is for clusters that are not installed here.
//! - Installed nodes are not reclaimed by a pod on the cluster: they wait for somebody to boot them.
//! - A restored host is judged anew from its inventory; one that was in the middle of an installation is restored as `error`.
//! - Empty lists of the inventory's annotation are lists, never `null`.

pub mod conditions;
pub mod desired;
pub mod edits;
mod feed;
mod gone;
mod host_side;
pub mod inventory;
pub mod known;
mod links;
pub mod membership;
pub mod metadata;
pub mod patch;
pub mod queue;
mod reconcile;
pub mod restore;
pub mod status;
mod token;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::api::PatchParams;
use kube::runtime::reflector;
use muster_core::kube::KubeRef;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::agent_labels::Labels;
use super::{Context, Error, agent_classification, drive};
use known::Agents;
use queue::{Lane, Queue};
use reconcile::Reconciler;
use token::Tokens;

/// Whose writes these are, in `managedFields`.
pub const FIELD_MANAGER: &str = "muster";

/// Agents looked at at the same time: enough to keep an API server busy that takes some milliseconds a write.
const WORKERS: usize = 16;

/// More that look only at what somebody waits for.
const URGENT_WORKERS: usize = 4;

/// Before an Agent is looked at again that another wrote in between.
const AFTER_CONFLICT: Duration = Duration::from_millis(100);

/// Patches of ours.
pub fn patch_params() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// Runs the controllers of Agents, their labels and AgentClassifications until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let agents = Arc::new(Agents::default());
    let queue = Arc::new(Queue::default());
    let labels = Arc::new(Labels::new(queue.clone()));
    let (infra_envs, infra_env_writer) = reflector::store();
    let (classifications, classification_writer) = reflector::store();
    let (secrets, secret_writer) = reflector::store();
    let client = &context.client;
    let feed = Arc::new(feed::Feed {
        context: context.clone(),
        agents: agents.clone(),
        queue: queue.clone(),
    });
    let mut tasks = JoinSet::new();
    // Before anything is read: what changes from here on is told.
    tasks.spawn(feed.clone().hosts(context.changes.subscribe_hosts()));
    tasks.spawn(feed.clone().clusters(context.changes.subscribe_clusters()));
    let (listed, is_listed) = tokio::sync::oneshot::channel();
    tasks.spawn(feed.clone().agents(client.clone(), listed));
    tasks.spawn(feed.clone().infra_envs(client.clone(), infra_env_writer));
    tasks.spawn(
        feed.clone()
            .classifications(client.clone(), classification_writer),
    );
    tasks.spawn(feed.clone().secrets(client.clone(), secret_writer));
    let reconciler = Arc::new(Reconciler {
        context: context.clone(),
        agents: agents.clone(),
        infra_envs: infra_envs.clone(),
        classifications: classifications.clone(),
        labels: labels.clone(),
        tokens: Tokens::new(client.clone(), secrets),
        cluster_names: Default::default(),
    });
    let all_there = async {
        // Each ends early only with its task, and that ends this below.
        let _ = is_listed.await;
        let _ = infra_envs.wait_until_ready().await;
        let _ = classifications.wait_until_ready().await;
    };
    let ready = tokio::select! {
        () = all_there => true,
        () = stop.cancelled() => false,
    };
    if ready {
        tasks.spawn(async move {
            feed.everything().await;
            std::future::pending().await
        });
        tasks.spawn(agent_classification::follow(
            context.client.clone(),
            agents,
            classifications,
            labels,
        ));
        for worker in 0..WORKERS + URGENT_WORKERS {
            let urgent_only = worker >= WORKERS;
            tasks.spawn(work(reconciler.clone(), queue.clone(), urgent_only));
        }
        tokio::select! {
            () = stop.cancelled() => {}
            // None of them ends by itself.
            Some(ended) = tasks.join_next() => {
                tracing::error!(?ended, "a part of the controller of Agents ended");
            }
        }
    }
    // What is cut off in the middle is found again by the next first look.
    tasks.shutdown().await;
}

async fn work(reconciler: Arc<Reconciler>, queue: Arc<Queue<KubeRef>>, urgent_only: bool) {
    loop {
        let (key, lane) = queue.take(urgent_only).await;
        let began = Instant::now();
        let outcome = reconciler.reconcile(&key, lane).await;
        drive::measure("agent", began.elapsed(), outcome.as_ref().err());
        match outcome {
            Ok(again) => {
                queue.done(&key);
                if let Some(moment) = again {
                    queue.add_later(key, moment);
                }
            }
            Err(error) if error.is_conflict() => {
                queue.done(&key);
                queue.add_later(key, tokio::time::Instant::now() + AFTER_CONFLICT);
            }
            Err(error) => tell(&key, lane, &error, queue.failed(&key)),
        }
    }
}

/// A failure is told once, and then again only to those who look closely: it is tried many times while the API server is away.
fn tell(key: &KubeRef, lane: Lane, error: &Error, wait: Duration) {
    if wait < Duration::from_secs(1) {
        tracing::warn!(agent = %key, ?lane, %error, "an Agent could not be looked after; trying again");
    } else {
        tracing::debug!(agent = %key, ?lane, %error, seconds = wait.as_secs(), "an Agent could still not be looked after");
    }
}
