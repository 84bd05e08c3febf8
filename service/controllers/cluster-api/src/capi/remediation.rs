//! Reconciles AgentRemediations, one for each unhealthy Machine: the host of the Machine is rebooted, and when that does not help, the Machine
//! is left to its owner, which replaces it. Source: docs/protocol/capi-day1.md, section 1, "Remediation template".
//!
//! The controller sees no host: it requests a reboot by an annotation of the Agent, which its service answers in another one.

mod decision;
mod host;
mod machine;
mod reconcile;
mod status;
mod waiting;

use std::sync::Arc;

use futures_util::stream;
use kube::runtime::reflector::ObjectRef;
use kube::{Resource, ResourceExt};
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::{kinds, watch};
use muster_resources::AgentRemediation;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::kinds::Kinds;
use crate::context::Context;

pub use waiting::Waiting;

/// Runs the controller until `stop`, once the API server has the kind: where other programs installed the kinds of the provider, it may be
/// missing.
pub async fn run(
    context: Arc<Context>,
    kinds: Kinds,
    (waiting, mut requested): (Arc<Waiting>, UnboundedReceiver<ObjectRef<AgentRemediation>>),
    stop: CancellationToken,
) {
    let (version, plural) = (AgentRemediation::api_version(&()), AgentRemediation::plural(&()));
    let plurals = [&*plural];
    tokio::select! {
        () = kinds::served(&context.client, &version, &plurals) => {}
        () = stop.cancelled() => return,
    }
    let controller = watch::controller::<AgentRemediation>(&context);
    let of_turns = context.turns.changes(controller.store());
    let controller = controller
        .reconcile_on(stream::poll_fn(move |context| requested.poll_recv(context)))
        .reconcile_on(of_turns);
    let kinds = Arc::new(kinds);
    drive(
        "agent_remediation",
        CONCURRENCY,
        controller,
        context,
        stop,
        move |object, context| {
            let (kinds, waiting) = (kinds.clone(), waiting.clone());
            async move {
                let namespace = object.namespace().unwrap_or_default();
                let work = Box::pin(reconcile::reconcile(object, &context, &kinds, &waiting));
                context.turns.within(&namespace, work).await
            }
        },
    )
    .await;
}
