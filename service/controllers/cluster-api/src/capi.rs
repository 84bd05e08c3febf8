//! The infrastructure provider of Cluster API for Agents: AgentClusters, AgentMachines, AgentRemediations, and the status of
//! AgentMachineTemplates and AgentQuotas. Cluster API itself makes objects from templates. Source: docs/protocol/capi-agent-provider.md.
//!
//! Switched on by `--capi-provider`; if off, cluster-api-provider-agent does the same with the same custom resources.

mod addresses;
mod agent_cluster;
mod agent_machine;
mod agent_machine_template;
mod agent_quota;
mod agents;
mod bootstrap;
mod claims;
pub mod kinds;
mod memory;
mod objects;
mod prepared;
mod provider;
mod quantity;
mod queue;
mod quotas;
mod remediation;
mod selectors;
mod zones;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future;
use kube::runtime::reflector;
use muster_controller::error::words;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use kinds::Kinds;
use remediation::Waiting;
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
    let (waiting, requested) = Waiting::new();
    let shared = agent_machine::Shared {
        agents: agent_writer,
        infra_envs: infra_env_writer,
        zones: zones.clone(),
        remediations: waiting.clone(),
    };
    let controllers = [
        agent_machine::run(context.clone(), kinds.clone(), shared, stop.clone()).boxed(),
        agent_cluster::run(context.clone(), kinds.clone(), zones, stop.clone()).boxed(),
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
