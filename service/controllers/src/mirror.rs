//! Shows objects that were made by REST as custom resources, on the built-in Kubernetes API: creates their resources, and deletes those
//! that are left over.
//!
//! A record gets the name of its resource first and the resource is created then, so that the next start completes an interrupted
//! creation. From then on the controllers of the kinds bring both together ([`crate::infra_env::mirrored`],
//! [`crate::cluster_deployment::mirrored`]). The namespaces of a real API server do not belong to the service, so nothing is
//! mirrored there.

mod clusters;
mod infra_envs;
mod names;
mod place;
pub mod spec;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, future, stream};
use kube::runtime::scheduler::{ScheduleRequest, scheduler};
use muster_api::ids::{ClusterId, InfraEnvId};
use muster_controller::drive::attempt;
use muster_controller::error::Failure;
use muster_controller::retry::{Failures, RETRY_INTERVAL};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::error::Error;

/// Records that are mirrored at the same time.
const CONCURRENCY: usize = 4;

/// A record that is mirrored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Cluster(ClusterId),
    InfraEnv(InfraEnvId),
}

type Request = ScheduleRequest<Key>;

/// Runs until `stop`. `is_on`: false on an API server that is not the built-in one; mirrors of another API are removed then.
pub async fn run(context: Arc<Context>, is_on: bool, stop: CancellationToken) {
    let work = async {
        if is_on {
            mirror(&context).await;
        } else {
            until_done("records that were mirrored", || infra_envs::forget(&context)).await;
            until_done("clusters that were mirrored", || clusters::forget(&context)).await;
        }
    };
    tokio::select! {
        () = work => stop.cancelled().await,
        () = stop.cancelled() => {}
    }
}

async fn mirror(context: &Context) {
    let (sender, receiver) = unbounded_channel();
    let infra_envs = context.changes.subscribe_infra_envs().map(Key::InfraEnv);
    let clusters = context.changes.subscribe_clusters().map(Key::Cluster);
    // Subscribed before: no change from here on is missed. Clusters first, as InfraEnvs refer to them.
    let known = until_done("the clusters", || clusters::all(context)).await;
    let known = known.into_iter().map(Key::Cluster);
    let others = until_done("the InfraEnvs", || infra_envs::all(context)).await;
    for key in known.chain(others.into_iter().map(Key::InfraEnv)) {
        schedule(&sender, key, Duration::ZERO);
    }
    let feed = stream::select(infra_envs, clusters).for_each(|key| {
        schedule(&sender, key, Duration::ZERO);
        future::ready(())
    });
    tokio::join!(feed, follow(context, &sender, receiver));
}

fn schedule(sender: &UnboundedSender<Request>, message: Key, after: Duration) {
    let run_at = Instant::now() + after;
    // The receiver lives as long as the controller.
    let _ = sender.send(ScheduleRequest { message, run_at });
}

async fn follow(
    context: &Context,
    sender: &UnboundedSender<Request>,
    mut receiver: UnboundedReceiver<Request>,
) {
    let failures = Failures::default();
    let lanes = Lanes::default();
    let requests = stream::poll_fn(move |task| receiver.poll_recv(task));
    scheduler(requests)
        .for_each_concurrent(CONCURRENCY, |key| {
            let (failures, lanes) = (&failures, &lanes);
            async move {
                let _lane = lanes.enter(&key).await;
                let Err(error) = attempt("mirror", mirror_one(key, context)).await else {
                    failures.clear(&key);
                    return;
                };
                let (wait, times) = failures.add(key, error.is_conflict());
                if times == 1 && !error.is_conflict() {
                    tracing::warn!(record = ?key, %error, "what REST made has no custom resource yet; trying again");
                }
                schedule(sender, key, wait);
            }
        })
        .await;
}

/// Lets one task at a time mirror a record: two would give it two names.
#[derive(Default)]
struct Lanes {
    locks: [Mutex<()>; CONCURRENCY],
    hasher: RandomState,
}

impl Lanes {
    async fn enter(&self, key: &Key) -> MutexGuard<'_, ()> {
        let lanes = self.locks.len() as u64;
        let lane = usize::try_from(self.hasher.hash_one(key) % lanes).unwrap_or_default();
        self.locks[lane].lock().await
    }
}

async fn mirror_one(key: Key, context: &Context) -> Result<(), Error> {
    match key {
        Key::Cluster(id) => clusters::mirror(id, context).await,
        Key::InfraEnv(id) => infra_envs::mirror(id, context).await,
    }
}

async fn until_done<T, F>(what: &str, work: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, Error>>,
{
    loop {
        match work().await {
            Ok(done) => return done,
            Err(error) => {
                tracing::warn!(%error, "{what} cannot be listed; trying again");
                sleep(RETRY_INTERVAL).await;
            }
        }
    }
}
