//! Holds the state that the reconciles of AgentMachines share.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use kube::ResourceExt;
use kube::core::{DynamicObject, PartialObjectMeta};
use kube::runtime::reflector::Store;
use muster_controller::references::kube_ref;
use muster_core::record::KubeRef;
use muster_resources::names::annotation;
use muster_resources::{AgentCluster, InfraEnv};

use super::agents::AgentView;
use super::claims::Claims;
use super::kinds::Kinds;
use super::memory::Memory;
use super::prepared::Prepared;
use super::remediation::Waiting;
use crate::context::Context;

/// Caches of the API server's objects, and other state kept in memory.
pub struct Provider {
    pub context: Arc<Context>,
    pub kinds: Kinds,
    pub agents: Store<AgentView>,
    pub machines: Store<DynamicObject>,
    pub clusters: Store<DynamicObject>,
    pub agent_clusters: Store<AgentCluster>,
    /// InfraEnvs, without their content.
    pub infra_envs: Store<PartialObjectMeta<InfraEnv>>,
    pub claims: Claims,
    pub prepared: Prepared,
    pub leaving: Leaving,
    pub remediations: Arc<Waiting>,
    /// Namespaces of Agents, by HostedCluster.
    pub agent_namespaces: Memory<KubeRef, Option<String>>,
    /// AgentMachines for which the reasons against Agents were written lately.
    pub explained: Memory<KubeRef, ()>,
}

impl Provider {
    /// InfraEnvs in `namespace` that give their hosts to AgentMachines of the namespace `machines`.
    pub fn open_to(&self, machines: &str, namespace: &str) -> BTreeSet<KubeRef> {
        let open = self.infra_envs.state_filter(|infra_env| {
            infra_env.namespace().as_deref() == Some(namespace) && is_open_to(infra_env, machines)
        });
        open.iter().map(|infra_env| kube_ref(&**infra_env)).collect()
    }
}

/// True when the object's annotation names the namespace.
fn is_open_to(infra_env: &impl ResourceExt, namespace: &str) -> bool {
    let given = infra_env.annotations().get(annotation::INFRA_ENV_OPEN_TO);
    given.is_some_and(|given| given.split(',').any(|one| one.trim() == namespace))
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
