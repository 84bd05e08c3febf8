//! Holds what the controllers that change records need beside the [runtime's context](muster_controller::Context).

use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use kube::Client;
use muster_cluster_api::Pool;
use muster_cluster_api::capi::turns::Turns;
use muster_controller::events::Events;
use muster_controller::namespaces::Namespaces;
use muster_controller::watches::Watches;
use muster_metal3::drives::Drives;
use muster_operations::Operations;
use muster_operations::changes::Changes;
use muster_outgoing::Networks;
use muster_workload::Workloads;

use crate::agent::cache::AgentCache;
use crate::agent::lifecycle::refused::RefusedAgents;
use crate::join::awaited::Waits;
use crate::metal3_records::Metal3Records;
use crate::offered_images::ServiceImages;

/// State shared by all controllers of a replica.
pub struct Context {
    pub runtime: Arc<muster_controller::Context>,
    /// Everything that can be done in the service.
    pub operations: Arc<Operations>,
    /// Changes of the database.
    pub changes: Changes,
    /// Clients of the clusters that hosts become nodes of.
    pub workloads: Arc<Workloads>,
    /// Waits of joining hosts.
    pub joining: Waits,
    /// All Agents, as the watch shows them.
    pub agents: Arc<AgentCache>,
    /// Agents that the API server refuses.
    pub refused_agents: RefusedAgents,
    /// True when this service sets the provider ids of Nodes, as it is the provider of Cluster API.
    pub sets_provider_ids: bool,
    /// True when this service creates the Machines of NodePools, so that their labels and taints are set on Nodes.
    pub has_node_pools: bool,
    /// As in the [context of Cluster API's kinds](muster_cluster_api::Context).
    pub watch_filter: Option<String>,
    /// As in the [context of Cluster API's kinds](muster_cluster_api::Context).
    pub turns: Arc<Turns>,
}

impl Context {
    /// `networks`: those of API servers of workload clusters.
    pub fn new(
        client: &Client,
        operations: Arc<Operations>,
        events: Events,
        namespaces: Namespaces,
        networks: Networks,
    ) -> Self {
        let watches = Arc::new(WatchesOf(operations.clone()));
        let runtime = muster_controller::Context::new(client, events, namespaces, watches);
        Self {
            workloads: Arc::new(Workloads::new(runtime.client.clone(), networks)),
            joining: Waits::default(),
            agents: Arc::default(),
            refused_agents: RefusedAgents::default(),
            sets_provider_ids: true,
            has_node_pools: true,
            watch_filter: None,
            turns: Turns::alone(),
            changes: operations.changes.clone(),
            runtime: Arc::new(runtime),
            operations,
        }
    }

    /// The context of the controllers of Cluster API kinds and of node pools.
    pub fn of_cluster_api(&self) -> Arc<muster_cluster_api::Context> {
        Arc::new(muster_cluster_api::Context {
            runtime: self.runtime.clone(),
            workloads: self.workloads.clone(),
            images: Arc::new(ServiceImages(self.operations.os_images.clone())),
            watch_filter: self.watch_filter.clone(),
            pool: Pool::Named,
            turns: self.turns.clone(),
        })
    }

    /// The context of the controllers of Metal3's kinds.
    pub fn of_metal3(&self, drives: Option<Arc<dyn Drives>>) -> Arc<muster_metal3::Context> {
        Arc::new(muster_metal3::Context {
            runtime: self.runtime.clone(),
            workloads: self.workloads.clone(),
            drives,
            records: Arc::new(Metal3Records(self.operations.clone())),
        })
    }
}

impl Deref for Context {
    type Target = muster_controller::Context;

    fn deref(&self) -> &Self::Target {
        &self.runtime
    }
}

/// Which watches fail stands in `/ready`.
struct WatchesOf(Arc<Operations>);

impl Watches for WatchesOf {
    fn works(&self, kind: &str) {
        self.0.bridge.watches().works(kind);
    }

    fn fails(&self, kind: &str, error: String, now: Instant) {
        self.0.bridge.watches().fails(kind, error, now);
    }
}
