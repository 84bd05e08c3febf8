//! The infrastructure provider of Cluster API for Agents: AgentClusters, AgentMachines and AgentRemediations. Templates are
//! read by Cluster API itself. Source: docs/protocol/capi-agent-provider.md.
//!
//! Switched on by `--capi-provider`; if off, cluster-api-provider-agent does the same with the same custom resources.

mod addresses;
mod agent_cluster;
mod agent_machine;
mod agents;
mod bootstrap;
mod claims;
pub mod kinds;
mod memory;
mod objects;
mod prepared;
mod provider;
mod quantity;
mod remediation;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future;
use muster_controller::error::words;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use kinds::Kinds;
use remediation::Waiting;

/// Between two attempts to find out which kinds the API server has.
const KINDS_INTERVAL: Duration = Duration::from_secs(5);

/// Runs the provider's controllers until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let kinds = tokio::select! {
        kinds = served(&context) => kinds,
        () = stop.cancelled() => return,
    };
    let (waiting, requested) = Waiting::new();
    let controllers = [
        agent_machine::run(context.clone(), kinds.clone(), waiting.clone(), stop.clone()).boxed(),
        agent_cluster::run(context.clone(), kinds.clone(), stop.clone()).boxed(),
        remediation::run(context, kinds, (waiting, requested), stop.clone()).boxed(),
    ];
    let ((), _, rest) = future::select_all(controllers).await;
    // A controller that ends by itself ends the others.
    if stop.is_cancelled() {
        future::join_all(rest).await;
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
