//! Reports what the nodes of each AgentMachineTemplate have, for autoscalers that start without a Machine. Source:
//! docs/protocol/capi-day1.md, section 1.

mod reconcile;
mod status;

use std::sync::Arc;

use futures_util::stream;
use kube::ResourceExt;
use kube::runtime::Controller;
use kube::runtime::reflector::ObjectRef;
use muster_controller::drive::{CONCURRENCY, drive};
use muster_resources::AgentMachineTemplate;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::provider::Provider;

/// Runs the controller for as long as it is polled. `requested`: templates whose Agents changed.
pub async fn run(
    provider: Arc<Provider>,
    controller: Controller<AgentMachineTemplate>,
    mut requested: UnboundedReceiver<ObjectRef<AgentMachineTemplate>>,
) {
    let context = provider.context.clone();
    let of_turns = context.turns.changes(controller.store());
    let controller = controller
        .reconcile_on(stream::poll_fn(move |context| requested.poll_recv(context)))
        .reconcile_on(of_turns);
    drive(
        "agent_machine_template",
        CONCURRENCY,
        controller,
        context,
        CancellationToken::new(),
        move |object, _| {
            let provider = provider.clone();
            async move {
                let turns = provider.context.turns.clone();
                let namespace = object.namespace().unwrap_or_default();
                turns
                    .within(&namespace, reconcile::reconcile(object, provider))
                    .await
            }
        },
    )
    .await;
}
