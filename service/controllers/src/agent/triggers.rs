//! Triggers reconciles of Agents, by changes of the Agent, its host, its InfraEnv, the cluster that it waits for,
//! AgentClassifications, Secrets.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Secret as KubeSecret;
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::{self, Event};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_controller::error::Failure;
use muster_controller::references::kube_ref;
use muster_controller::{secrets, watch};
use muster_core::record::KubeRef;
use muster_resources::names::label;
use muster_resources::{AgentClassification, InfraEnv, NamespacedReference};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

use super::cache::{AgentCache, Change};
use super::cached::CachedAgent;
use super::desired;
use super::lanes::{Lane, Lanes};
use super::lifecycle::creation::Creations;
use super::lifecycle::orphans::Orphans;
use super::spec::membership;
use crate::context::Context;
use crate::error::Error;

/// Between two queries of a database that does not respond.
const DATABASE_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Turns changes into requests: of Agents that exist, and of those to be created.
pub(super) struct Triggers {
    pub(super) context: Arc<Context>,
    pub(super) orphans: Arc<Orphans>,
    pub(super) agents: Arc<AgentCache>,
    pub(super) lanes: Arc<Lanes>,
    pub(super) creations: Creations,
}

impl Triggers {
    /// Requests the Agents of all hosts that have none. Those that exist are requested by the first list of Agents.
    pub(super) async fn all_hosts(self: Arc<Self>) {
        let hosts = loop {
            match self.context.operations.hosts.keys_of_resources().await {
                Ok(hosts) => break hosts,
                Err(error) => {
                    tracing::warn!(%error, "the hosts of custom resources cannot be listed; trying again");
                    sleep(DATABASE_RETRY_INTERVAL).await;
                }
            }
        };
        for (infra_env, _, id) in hosts {
            let key = KubeRef::new(infra_env.namespace, id.to_string());
            if !self.context.namespaces.contains(&key.namespace) {
                continue;
            }
            if self.agents.get(&key).is_none() {
                self.creations.request(key);
            }
        }
    }

    /// Requests the Agents of hosts that changed.
    pub(super) async fn hosts(self: Arc<Self>, changed: impl Stream<Item = (InfraEnvId, HostId)>) {
        let mut changed = pin!(changed);
        while let Some((infra_env_id, id)) = changed.next().await {
            let record = loop {
                match self.context.operations.infra_envs.find(infra_env_id).await {
                    Ok(record) => break record,
                    Err(_) => sleep(DATABASE_RETRY_INTERVAL).await,
                }
            };
            match record {
                Some(record) => {
                    if let Some(infra_env) = &record.kube {
                        self.host_changed(KubeRef::new(&infra_env.namespace, id.to_string()));
                    }
                }
                // The host was deleted with its InfraEnv, so its namespace is not known.
                None => {
                    let name = id.to_string();
                    let keys = self
                        .agents
                        .keys(|agent| agent.metadata.name.as_ref() == Some(&name));
                    self.lanes.add_all(keys, Lane::Normal);
                }
            }
        }
    }

    fn host_changed(&self, key: KubeRef) {
        if !self.context.namespaces.contains(&key.namespace) {
            return;
        }
        if self.agents.get(&key).is_some() {
            self.lanes.add(&key, Lane::Normal);
        } else {
            self.creations.request(key);
        }
    }

    /// Requests the Agents that may wait for a cluster that was created.
    pub(super) async fn clusters(self: Arc<Self>, changed: impl Stream<Item = ClusterId>) {
        let mut changed = pin!(changed);
        while let Some(id) = changed.next().await {
            let name = loop {
                match self
                    .context
                    .operations
                    .clusters
                    .find(id, false)
                    .await
                    .map_err(Error::from)
                {
                    Ok(found) => break found.cluster.kube,
                    Err(error) if error.is_input() => break None,
                    Err(_) => sleep(DATABASE_RETRY_INTERVAL).await,
                }
            };
            let Some(name) = name else { continue };
            let waiting = |agent: &CachedAgent| {
                !agent.is_synced && membership::wanted(&agent.spec).as_ref() == Some(&name)
            };
            self.lanes.add_all(self.agents.keys(waiting), Lane::Normal);
        }
    }

    /// Requests the Agents that others changed. An Agent that is gone is created again if its host exists.
    pub(super) async fn agents(self: Arc<Self>) {
        let stream = watch::watch(&self.context, watcher::Config::default(), self.agents.store());
        let mut stream = pin!(stream);
        while let Some(event) = stream.next().await {
            for (key, change) in self.agents.observe(event) {
                match change {
                    Change::Requested => self.lanes.add(&key, Lane::Urgent),
                    Change::Updated => self.lanes.add(&key, Lane::Normal),
                    Change::Gone => self.creations.request(key),
                }
            }
        }
    }

    /// Handles InfraEnvs: one that approves its Agents requests those that are not approved, also when it is shown by a list that follows
    /// an interruption. One that is created again requests the Agents that waited for it.
    pub(super) async fn infra_envs(self: Arc<Self>, mut writer: Writer<InfraEnv>) {
        let mut seen: HashMap<KubeRef, Option<i64>> = HashMap::new();
        let stream = watch::watch(&self.context, watcher::Config::default(), writer.as_reader());
        let mut stream = pin!(stream);
        while let Some(mut event) = stream.next().await {
            if let Event::Apply(infra_env) | Event::InitApply(infra_env) = &mut event {
                infra_env.metadata.managed_fields = None;
                infra_env.status = None;
            }
            writer.apply_watcher_event(&event);
            let (infra_env, is_listed) = match event {
                Event::Apply(infra_env) => (infra_env, false),
                Event::InitApply(infra_env) => (infra_env, true),
                Event::Delete(infra_env) => {
                    seen.remove(&kube_ref(&infra_env));
                    continue;
                }
                Event::InitDone => {
                    for infra_env in writer.as_reader().state() {
                        self.came(&kube_ref(&*infra_env));
                    }
                    continue;
                }
                Event::Init => continue,
            };
            let generation = infra_env.metadata.generation;
            let is_same = seen.insert(kube_ref(&infra_env), generation) == Some(generation);
            if !is_listed {
                self.came(&kube_ref(&infra_env));
            }
            if desired::approves(&infra_env) && !(is_listed && is_same) {
                let (namespace, name) = (infra_env.namespace(), infra_env.name_any());
                let keys = self.agents.keys(|agent| {
                    !agent.spec.approved
                        && agent.metadata.namespace == namespace
                        && agent.labels().get(label::INFRA_ENV) == Some(&name)
                });
                self.lanes.add_all(keys, Lane::Urgent);
            }
        }
    }

    /// Requests the Agents that waited for an InfraEnv.
    fn came(&self, infra_env: &KubeRef) {
        for agent in self.orphans.came(infra_env) {
            self.creations.request(agent);
        }
    }

    /// Handles AgentClassifications: another query, or a deletion, requests all Agents of the namespace. Each change
    /// is passed on to `changed` as well.
    pub(super) async fn classifications(
        self: Arc<Self>,
        mut writer: Writer<AgentClassification>,
        changed: UnboundedSender<ObjectRef<AgentClassification>>,
    ) {
        let mut seen: HashMap<KubeRef, (Option<i64>, bool)> = HashMap::new();
        let stream = watch::watch(&self.context, watcher::Config::default(), writer.as_reader());
        let mut stream = pin!(stream);
        while let Some(event) = stream.next().await {
            writer.apply_watcher_event(&event);
            match &event {
                Event::Apply(one) | Event::InitApply(one) => {
                    let state = (one.metadata.generation, one.metadata.deletion_timestamp.is_some());
                    if seen.insert(kube_ref(one), state) != Some(state) {
                        let namespace = &one.metadata.namespace;
                        let keys = self.agents.keys(|agent| agent.metadata.namespace == *namespace);
                        self.lanes.add_all(keys, Lane::Normal);
                    }
                    // Sending fails only when the controller has ended.
                    let _ = changed.send(ObjectRef::from_obj(one));
                }
                Event::Delete(one) => {
                    seen.remove(&kube_ref(one));
                }
                Event::Init | Event::InitDone => {}
            }
        }
    }

    /// Requests the Agents of hosts that wait for something else in their clusters than before.
    pub(super) async fn joining(self: Arc<Self>) {
        let mut changed = pin!(self.context.joining.changes());
        while let Some(key) = changed.next().await {
            if self.agents.get(&key).is_some() {
                self.lanes.add(&key, Lane::Normal);
            }
        }
        // The sender lives as long as the context.
        std::future::pending().await
    }

    /// Handles Secrets that were read once: a changed one requests the Agents that name it.
    pub(super) async fn secrets(self: Arc<Self>, mut writer: Writer<PartialObjectMeta<KubeSecret>>) {
        let mut seen: HashMap<KubeRef, Option<String>> = HashMap::new();
        let mut stream = pin!(watch::metadata_events(&self.context, secrets::watched()));
        while let Some(event) = stream.next().await {
            writer.apply_watcher_event(&event);
            let (Event::Apply(secret) | Event::InitApply(secret) | Event::Delete(secret)) = &event else {
                continue;
            };
            // A list after an interruption contains the changes made meanwhile, among all else.
            let version = secret.metadata.resource_version.clone();
            let before = match &event {
                Event::Delete(_) => seen.remove(&kube_ref(secret)),
                _ => seen.insert(kube_ref(secret), version.clone()),
            };
            if matches!(event, Event::InitApply(_)) && before == Some(version) {
                continue;
            }
            let reference = NamespacedReference {
                name: secret.name_any(),
                namespace: secret.namespace().unwrap_or_default(),
            };
            let keys = self
                .agents
                .keys(|agent| agent.spec.ignition_endpoint_token_reference.as_ref() == Some(&reference));
            self.lanes.add_all(keys, Lane::Normal);
        }
    }
}
