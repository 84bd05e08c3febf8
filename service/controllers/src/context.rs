//! Holds the clients and services that every controller needs.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use muster_operations::Operations;
use muster_operations::changes::Changes;
use tokio::time::timeout;
use tower::service_fn;

use super::agent::cache::AgentCache;
use super::agent::refused::RefusedAgents;
use super::echoes::WrittenStatuses;
use super::events::Events;
use super::join::told::Told;
use super::metal3::drives::Drives;
use super::namespaces::Namespaces;
use super::waits::Waits;
use super::workload::Workloads;

/// Limit of one request, until the answer begins: its retries included. Watches answer at once and go on.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// Shared by all controllers of a replica.
pub struct Context {
    /// To the Kubernetes API. No request waits for an answer longer than [`REQUEST_LIMIT`].
    pub client: Client,
    /// Everything that can be done in the service.
    pub app: Arc<Operations>,
    /// The namespaces that are looked after.
    pub namespaces: Namespaces,
    /// Changes of the database.
    pub changes: Changes,
    /// Kubernetes Events to publish.
    pub events: Events,
    /// Clients of the clusters that hosts become nodes of.
    pub workloads: Workloads,
    /// Waits of objects, for Events.
    pub waits: Waits,
    /// Statuses that were written.
    pub statuses: WrittenStatuses,
    /// Waits of joining hosts.
    pub joining: Told,
    /// Empties the drives of machines that Metal3 was told to leave alone; `None`: nobody does.
    pub drives: Option<Arc<dyn Drives>>,
    /// All Agents, as the watch shows them.
    pub agents: Arc<AgentCache>,
    /// Agents that the API server refuses.
    pub refused_agents: RefusedAgents,
    /// True when this service sets the provider ids of Nodes: it is the provider of Cluster API.
    pub sets_provider_ids: bool,
    /// True when this service makes the Machines of NodePools, so that their labels and taints go to Nodes.
    pub has_node_pools: bool,
}

impl Context {
    pub fn new(client: &Client, app: Arc<Operations>, events: Events) -> Self {
        let changes = app.changes.clone();
        let client = with_deadline(client.clone());
        Self {
            workloads: Workloads::new(client.clone()),
            namespaces: Namespaces::default(),
            waits: Waits::default(),
            statuses: WrittenStatuses::default(),
            joining: Told::default(),
            drives: None,
            agents: Arc::default(),
            refused_agents: RefusedAgents::default(),
            sets_provider_ids: true,
            has_node_pools: true,
            client,
            app,
            changes,
            events,
        }
    }
}

fn with_deadline(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request| {
        let client = client.clone();
        async move {
            timeout(REQUEST_LIMIT, client.send(request))
                .await
                .unwrap_or_else(|_| {
                    let limit = REQUEST_LIMIT.as_secs();
                    Err(kube::Error::Service(format!("no answer within {limit} s").into()))
                })
        }
    });
    Client::new(service, namespace)
}
