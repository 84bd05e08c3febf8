//! The infrastructure provider of Cluster API for Agents: AgentClusters, AgentMachines, AgentRemediations, and the status of
//! AgentMachineTemplates and AgentQuotas. Cluster API itself makes objects from templates. Source: docs/protocol/capi-agent-provider.md.
//!
//! Switched on by `--capi-provider`; if off, cluster-api-provider-agent does the same with the same custom resources. `muster manager` is
//! these controllers alone, in the place of that program. Of two providers one serves a namespace ([`turns`]).

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
mod node;
mod objects;
mod prepared;
mod provider;
mod quantity;
mod queue;
mod quotas;
mod remediation;
mod selectors;
pub mod turns;
mod zones;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future;
use kube::Resource;
use kube::runtime::reflector::{self, ObjectRef};
use muster_controller::error::words;
use muster_controller::{kinds as all_kinds, rights};
use muster_resources::{AgentMachineTemplate, AgentRemediation};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
pub use agent_machine::wait_of;
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
        has_templates: may_watch::<AgentMachineTemplate>(&context).await,
    };
    let has_remediations = may_watch::<AgentRemediation>(&context).await;
    let controllers = [
        serve(context.clone(), stop.clone()).boxed(),
        agent_machine::run(context.clone(), kinds.clone(), shared, stop.clone()).boxed(),
        agent_cluster::run(context.clone(), kinds.clone(), zones, stop.clone()).boxed(),
        remediate(
            has_remediations,
            context,
            kinds,
            (waiting, requested),
            stop.clone(),
        )
        .boxed(),
    ];
    let ((), _, rest) = future::select_all(controllers).await;
    // A controller that ends by itself ends the others.
    if stop.is_cancelled() {
        future::join_all(rest).await;
    }
}

/// Finds out which namespaces are served here, until `stop`.
async fn serve(context: Arc<Context>, stop: CancellationToken) {
    context.turns.run(&context.runtime, &stop).await;
}

/// Runs the controller of AgentRemediations, or waits if they are left out, until `stop`.
async fn remediate(
    is_on: bool,
    context: Arc<Context>,
    kinds: Kinds,
    waiting: (Arc<Waiting>, UnboundedReceiver<ObjectRef<AgentRemediation>>),
    stop: CancellationToken,
) {
    if is_on {
        remediation::run(context, kinds, waiting, stop).await;
    } else {
        stop.cancelled().await;
    }
}

/// True if a kind is reconciled that a provider can do without: a program with the rights of another one may lack those on it, or its
/// definition. A service has its own rights.
async fn may_watch<K: Resource<DynamicType = ()>>(context: &Context) -> bool {
    if context.only_pool().is_none() {
        return true;
    }
    let (client, kind) = (&context.client, K::plural(&()));
    match all_kinds::is_served(client, &K::api_version(&()), &kind).await {
        Ok(true) => {}
        Ok(false) => {
            tracing::info!(%kind, "left out until the next start: the API server does not know them (muster crds)");
            return false;
        }
        // Its watch begins once the API server answers.
        Err(_) => return true,
    }
    for namespace in context.namespaces.names() {
        if let Ok(false) = rights::may_watch::<K>(client, namespace).await {
            tracing::warn!(%kind, namespace, "left out until the next start: they may not be listed and watched");
            return false;
        }
    }
    true
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
            Ok(None) => "the API server does not know Cluster and Machine, which the provider takes Agents for; install Cluster API or HyperShift".to_owned(),
            Err(error) => words(&error),
        };
        watches.fails(KIND, why, Instant::now());
        tokio::time::sleep(KINDS_INTERVAL).await;
    }
}
