//! Holds what the controllers of this crate need beside the [runtime's context](muster_controller::Context).

use std::ops::Deref;
use std::sync::Arc;

use kube::{Resource, ResourceExt};
use muster_resources::names::label;
use muster_workload::Workloads;

use crate::capi::turns::Turns;
use crate::images::OfferedImages;

/// Shared by the controllers of Cluster API kinds and of node pools.
pub struct Context {
    pub runtime: Arc<muster_controller::Context>,
    /// Clients of the clusters that hosts become nodes of.
    pub workloads: Arc<Workloads>,
    /// The images that hosts can be installed with.
    pub images: Arc<dyn OfferedImages>,
    /// Value of the label `cluster.x-k8s.io/watch-filter` of the objects that the provider reconciles; `None`: it reconciles all.
    pub watch_filter: Option<String>,
    /// The Agents that AgentMachines may have.
    pub pool: Pool,
    /// The namespaces that the provider serves.
    pub turns: Arc<Turns>,
}

/// The Agents that AgentMachines may have.
pub enum Pool {
    /// Those of the namespace that an annotation or the HostedCluster names, as far as their InfraEnvs give them.
    Named,
    /// All of one namespace, in which this program may read and change Agents, and nothing else. Other namespaces than this and those that are
    /// watched are not read. The provider sets the provider ids of Nodes by itself, as no service does.
    Only(Box<OnlyPool>),
}

/// The only namespace with Agents.
pub struct OnlyPool {
    pub namespace: String,
    /// Watches Agents, and writes nothing about those that cannot be read.
    pub runtime: muster_controller::Context,
}

impl Context {
    /// True unless the object is for another instance of the provider.
    pub fn is_ours(&self, object: &impl Resource) -> bool {
        let wanted = self.watch_filter.as_ref();
        wanted.is_none_or(|wanted| object.labels().get(label::CAPI_WATCH_FILTER) == Some(wanted))
    }

    /// The only namespace with Agents; `None`: objects name theirs.
    pub fn only_pool(&self) -> Option<&OnlyPool> {
        match &self.pool {
            Pool::Named => None,
            Pool::Only(pool) => Some(pool),
        }
    }

    /// The context by which Agents are watched.
    pub fn of_agents(&self) -> &muster_controller::Context {
        self.only_pool().map_or(&self.runtime, |pool| &pool.runtime)
    }
}

impl Deref for Context {
    type Target = muster_controller::Context;

    fn deref(&self) -> &Self::Target {
        &self.runtime
    }
}
