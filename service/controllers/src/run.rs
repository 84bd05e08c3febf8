//! Runs all controllers.

use std::sync::Arc;
use std::time::Duration;

use muster_cluster_api::{capi, nodepool};
use muster_controller::events::{Queued, publish};
use muster_metal3::drives::Drives;
use muster_metal3::{self as metal3, Flow};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::{agent, agent_cluster_install, bmc, cluster_deployment, infra_env, join, mirror};

/// Time for the Events that are queued when the service stops.
const LAST_EVENTS_LIMIT: Duration = Duration::from_secs(1);

/// Controllers that only some services run.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The controllers of Cluster API's provider: AgentClusters, AgentMachines.
    pub capi_provider: bool,
    /// The controllers of the built-in API: Clusters, Machines, HostedClusters, NodePools.
    pub node_pools: bool,
    /// The controller that shows objects made by REST as custom resources, on the built-in API.
    pub mirror: bool,
    /// The controllers of Metal3's kinds, if the API server has them.
    pub metal3: Flow,
    /// Empties the drives of machines that Metal3 leaves alone.
    pub drives: Option<Arc<dyn Drives>>,
}

/// Runs all controllers until `stop`, and publishes the Events that they queue. Returns early only when one
/// of them ends, which none should.
pub async fn run(context: Arc<Context>, events: Queued, parts: Parts, stop: CancellationToken) {
    let mut running: JoinSet<&'static str> = JoinSet::new();
    let (publishing, stopped) = (publish(context.client.clone(), events), stop.clone());
    start(&mut running, "events", async move {
        tokio::select! {
            () = publishing => {}
            () = async { stopped.cancelled().await; sleep(LAST_EVENTS_LIMIT).await } => {}
        }
    });
    let (waits, stopped) = (context.clone(), stop.clone());
    start(&mut running, "waits", async move {
        tokio::select! {
            () = waits.waits.publish(&waits.events) => {}
            () = stopped.cancelled() => {}
        }
    });
    // One line for each controller: start(&mut running, "agent", agent::run(context.clone(), stop.clone()));
    start(&mut running, "agent", agent::run(context.clone(), stop.clone()));
    start(
        &mut running,
        "agent_cluster_install",
        agent_cluster_install::run(context.clone(), stop.clone()),
    );
    start(&mut running, "bmc", bmc::run(context.clone(), stop.clone()));
    start(
        &mut running,
        "cluster_deployment",
        cluster_deployment::run(context.clone(), stop.clone()),
    );
    start(
        &mut running,
        "infra_env",
        infra_env::run(context.clone(), stop.clone()),
    );
    start(&mut running, "join", join::run(context.clone(), stop.clone()));
    start(
        &mut running,
        "mirror",
        mirror::run(context.clone(), parts.mirror, stop.clone()),
    );
    start(
        &mut running,
        "metal3",
        metal3::run(context.of_metal3(parts.drives), parts.metal3, stop.clone()),
    );
    if parts.capi_provider {
        start(
            &mut running,
            "capi",
            capi::run(context.of_cluster_api(), stop.clone()),
        );
    }
    if parts.node_pools {
        start(
            &mut running,
            "nodepool",
            nodepool::run(context.of_cluster_api(), stop.clone()),
        );
    }
    drop(context);
    while let Some(ended) = running.join_next().await {
        if stop.is_cancelled() {
            continue;
        }
        match ended {
            Ok(name) => tracing::error!(controller = name, "a controller ended; all of them are restarted"),
            Err(error) => tracing::error!(%error, "a controller broke; all of them are restarted"),
        }
        return;
    }
}

fn start(
    running: &mut JoinSet<&'static str>,
    name: &'static str,
    controller: impl Future<Output = ()> + Send + 'static,
) {
    running.spawn(async move {
        controller.await;
        name
    });
}
