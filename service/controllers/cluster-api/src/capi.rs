//! The infrastructure provider of Cluster API for Agents: AgentClusters and AgentMachines, and the status of AgentMachineTemplates. Cluster API
//! itself makes objects from templates. Source: docs/protocol/capi-agent-provider.md.
//!
//! Switched on by `--capi-provider`; if off, cluster-api-provider-agent does the same with the same custom resources.

mod addresses;
mod agent_cluster;
mod agent_machine;
mod agent_machine_template;
mod agents;
mod bootstrap;
mod claims;
pub mod kinds;
mod memory;
mod objects;
mod prepared;
mod provider;
mod quantity;
mod zones;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{self, Either};
use kube::runtime::reflector;
use muster_controller::error::words;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use kinds::Kinds;
use zones::Zones;

/// Between two attempts to find out which kinds the API server has.
const KINDS_INTERVAL: Duration = Duration::from_secs(5);

/// Runs the provider's controllers until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let kinds = tokio::select! {
        kinds = served(&context) => kinds,
        () = stop.cancelled() => return,
    };
    let (agents, agent_writer) = reflector::store();
    let (infra_envs, infra_env_writer) = reflector::store();
    let zones = Arc::new(Zones::new(agents, infra_envs));
    let shared = agent_machine::Shared {
        agents: agent_writer,
        infra_envs: infra_env_writer,
        zones: zones.clone(),
    };
    let machines = pin!(agent_machine::run(
        context.clone(),
        kinds.clone(),
        shared,
        stop.clone()
    ));
    let clusters = pin!(agent_cluster::run(context, kinds, zones, stop.clone()));
    let rest = match future::select(machines, clusters).await {
        Either::Left(((), rest)) => rest.left_future(),
        Either::Right(((), rest)) => rest.right_future(),
    };
    // A controller that ends by itself ends the other.
    if stop.is_cancelled() {
        rest.await;
    }
}

/// Waits for the API server to serve Cluster API's kinds. `/ready` reports while it does not.
async fn served(context: &Context) -> Kinds {
    const KIND: &str = "machines.cluster.x-k8s.io";
    let watches = &context.watches;
    loop {
        let why = match Kinds::served(&context.client).await {
            Ok(Some(kinds)) => {
                watches.works(KIND);
                return kinds;
            }
            Ok(None) => "the API server does not know Cluster and Machine, which --capi-provider works for; install Cluster API or HyperShift".to_owned(),
            Err(error) => words(&error),
        };
        watches.fails(KIND, why, Instant::now());
        tokio::time::sleep(KINDS_INTERVAL).await;
    }
}
