//! Creates the Agents of hosts. Hosts register by themselves, so no object exists yet that a kube controller
//! could reconcile.
//!
//! An Agent that was created is reconciled in the normal lane, where its status is written. A creation that failed
//! is tried again, later each time, by kube's scheduler.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use kube::runtime::scheduler::{ScheduleRequest, scheduler};
use muster_controller::drive::attempt;
use muster_controller::error::Failure;
use muster_controller::retry::Failures;
use muster_core::record::KubeRef;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::agent::lanes::{Lane, Lanes};
use crate::agent::reconcile::Reconciler;

/// Creations at the same time. Each is one write; an Agent that is reconciled until its inventory is there takes one or two more.
const CREATIONS: usize = 4;

/// Sends requests to create Agents.
#[derive(Clone)]
pub struct Creations(UnboundedSender<ScheduleRequest<KubeRef>>);

/// Receives requests to create Agents.
pub struct Requested(UnboundedReceiver<ScheduleRequest<KubeRef>>);

impl Creations {
    pub fn new() -> (Self, Requested) {
        let (sender, receiver) = unbounded_channel();
        (Self(sender), Requested(receiver))
    }

    /// Requests the Agent `key`. If the Agent exists by then, it is reconciled.
    pub fn request(&self, key: KubeRef) {
        self.schedule(key, tokio::time::Instant::now());
    }

    fn schedule(&self, message: KubeRef, run_at: tokio::time::Instant) {
        // Sending fails only when the controllers have ended.
        let _ = self.0.send(ScheduleRequest { message, run_at });
    }
}

/// Creates Agents for as long as it is polled.
pub async fn run(
    reconciler: Arc<Reconciler>,
    lanes: Arc<Lanes>,
    creations: Creations,
    mut requested: Requested,
) {
    let failures = Failures::default();
    let requests = stream::poll_fn(move |context| requested.0.poll_recv(context));
    scheduler(requests)
        .for_each_concurrent(CREATIONS, |key| async {
            match attempt("agent_creation", Box::pin(reconciler.ensure(&key))).await {
                Ok(exists) => {
                    failures.clear(&key);
                    if exists {
                        lanes.add(&key, Lane::Normal);
                    }
                }
                Err(error) => {
                    let (wait, times) = failures.add(key.clone(), error.is_conflict());
                    if times == 1 {
                        tracing::warn!(agent = %key, %error, "an Agent could not be created; trying again");
                    } else {
                        tracing::debug!(agent = %key, %error, times, "an Agent could not be created; trying again");
                    }
                    creations.schedule(key, tokio::time::Instant::now() + wait);
                }
            }
        })
        .await;
}
