//! Holds the state that the reconciles of AgentMachines share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::core::{DynamicObject, PartialObjectMeta};
use kube::runtime::reflector::Store;
use muster_core::record::KubeRef;
use muster_core::rules::placement::Open;
use muster_resources::{AgentCluster, AgentMachine, InfraEnv};

use super::agents::AgentView;
use super::claims::Claims;
use super::kinds::Kinds;
use super::memory::Memory;
use super::prepared::Prepared;
use super::quotas::{OfNamespace, Quotas};
use super::remediation::Waiting;
use super::zones::{self, Zones};
use crate::context::Context;

/// Caches of the API server's objects, and other state kept in memory.
pub struct Provider {
    pub context: Arc<Context>,
    pub kinds: Kinds,
    pub agents: Store<AgentView>,
    pub agent_machines: Store<AgentMachine>,
    pub machines: Store<DynamicObject>,
    pub clusters: Store<DynamicObject>,
    pub agent_clusters: Store<AgentCluster>,
    /// InfraEnvs, without their content.
    pub infra_envs: Store<PartialObjectMeta<InfraEnv>>,
    pub zones: Arc<Zones>,
    pub claims: Claims,
    pub quotas: Quotas,
    pub prepared: Prepared,
    pub leaving: Leaving,
    pub remediations: Arc<Waiting>,
    /// Namespaces of Agents, by HostedCluster.
    pub agent_namespaces: Memory<KubeRef, Option<String>>,
    /// Architectures of nodes, by NodePool.
    pub architectures: Memory<KubeRef, Option<String>>,
    /// AgentMachines for which the reasons against Agents were written lately.
    pub explained: Memory<KubeRef, ()>,
}

impl Provider {
    /// The hosts in `namespace` that are open to AgentMachines of the namespace `machines`.
    pub fn open_to(&self, machines: &str, namespace: &str) -> Open {
        match self.context.only_pool() {
            Some(_) => Open::All,
            None => Open::Of(zones::open_to(&self.infra_envs, machines, namespace)),
        }
    }

    /// The quotas of the Agents in a namespace.
    pub fn quotas_of(&self, namespace: &str) -> OfNamespace {
        self.quotas
            .of(namespace, |consumer| self.open_to(consumer, namespace))
    }
}

/// Agents that were given back, and the AgentMachines that wait until they are unbound.
#[derive(Debug, Default)]
pub struct Leaving(Mutex<HashMap<KubeRef, KubeRef>>);

impl Leaving {
    pub fn add(&self, agent: KubeRef, machine: KubeRef) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(agent, machine);
    }

    pub fn remove(&self, agent: &KubeRef) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(agent);
    }

    /// The AgentMachine that waits for this Agent.
    pub fn waiting_for(&self, agent: &KubeRef) -> Option<KubeRef> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(agent)
            .cloned()
    }
}
