//! What has an Agent looked at: itself, its host, its InfraEnv, the cluster that it waits for, AgentClassifications, Secrets.

use std::collections::HashMap;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Secret as KubeSecret;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client, Resource, ResourceExt};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_core::kube::KubeRef;
use muster_resources::names::label;
use muster_resources::{Agent, AgentClassification, InfraEnv, NamespacedReference};
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::conditions::Kind;
use super::desired;
use super::known::{Agents, Known, Observed};
use super::membership;
use super::queue::{Lane, Queue};
use crate::{Context, Error, kube_ref, secrets};

/// Before the database is asked again that did not answer.
const AGAIN: Duration = Duration::from_secs(1);

/// Feeds the queue.
pub(super) struct Feed {
    pub(super) context: Arc<Context>,
    pub(super) agents: Arc<Agents>,
    pub(super) queue: Arc<Queue<KubeRef>>,
}

impl Feed {
    /// Everything there is, once.
    pub(super) async fn everything(self: Arc<Self>) {
        self.queue.add_all(self.agents.keys(|_| true), Lane::Normal);
        let hosts = loop {
            match self.context.app.store.list_kube_host_keys().await {
                Ok(hosts) => break hosts,
                Err(error) => {
                    tracing::warn!(%error, "the hosts of custom resources cannot be listed; trying again");
                    sleep(AGAIN).await;
                }
            }
        };
        let keys = hosts
            .into_iter()
            .map(|(infra_env, _, id)| KubeRef::new(infra_env.namespace, id.to_string()));
        self.queue.add_all(keys, Lane::Normal);
    }

    /// Hosts that changed.
    pub(super) async fn hosts(self: Arc<Self>, changed: impl Stream<Item = (InfraEnvId, HostId)>) {
        let mut changed = pin!(changed);
        while let Some((infra_env_id, id)) = changed.next().await {
            let record = loop {
                match self.context.app.infra_envs.find(infra_env_id).await {
                    Ok(record) => break record,
                    Err(_) => sleep(AGAIN).await,
                }
            };
            match record {
                Some(record) => {
                    if let Some(infra_env) = &record.kube {
                        let key = KubeRef::new(&infra_env.namespace, id.to_string());
                        self.queue.add(key, Lane::Normal);
                    }
                }
                // It is gone with its InfraEnv, so nobody can say in which namespace.
                None => {
                    let name = id.to_string();
                    let keys = self
                        .agents
                        .keys(|known| known.agent.metadata.name.as_ref() == Some(&name));
                    self.queue.add_all(keys, Lane::Normal);
                }
            }
        }
    }

    /// Clusters that changed: Agents may wait for one to come.
    pub(super) async fn clusters(self: Arc<Self>, changed: impl Stream<Item = ClusterId>) {
        let mut changed = pin!(changed);
        while let Some(id) = changed.next().await {
            let name = loop {
                match self
                    .context
                    .app
                    .clusters
                    .find(id, false)
                    .await
                    .map_err(Error::from)
                {
                    Ok(found) => break found.cluster.kube,
                    Err(error) if error.is_input() => break None,
                    Err(_) => sleep(AGAIN).await,
                }
            };
            let Some(name) = name else { continue };
            let waiting = |known: &Known| {
                !is_synced(known) && membership::wanted(&known.agent.spec).as_ref() == Some(&name)
            };
            self.queue.add_all(self.agents.keys(waiting), Lane::Normal);
        }
    }

    /// Agents. `listed` is told when all have been seen once.
    pub(super) async fn agents(self: Arc<Self>, client: Client, listed: oneshot::Sender<()>) {
        let mut listed = Some(listed);
        let stream = watch(Api::<Agent>::all(client), watcher::Config::default()).default_backoff();
        let mut stream = pin!(stream);
        while let Some(event) = stream.next().await {
            let Some(event) = heard("agents", event) else {
                continue;
            };
            match event {
                Event::Init => self.agents.begin_listing(),
                Event::InitApply(agent) => {
                    let (key, observed) = self.agents.observe(agent);
                    // The first look at everything comes when all are listed.
                    if listed.is_none() {
                        self.look(key, observed);
                    }
                }
                Event::InitDone => {
                    let gone = self.agents.end_listing();
                    match listed.take() {
                        Some(listed) => drop(listed.send(())),
                        None => self.queue.add_all(gone, Lane::Normal),
                    }
                }
                Event::Apply(agent) => {
                    let (key, observed) = self.agents.observe(agent);
                    self.look(key, observed);
                }
                Event::Delete(agent) => {
                    let key = self.agents.gone(&agent);
                    self.queue.add(key, Lane::Normal);
                }
            }
        }
    }

    fn look(&self, key: KubeRef, observed: Observed) {
        match observed {
            Observed::Known => {}
            Observed::Wish => self.queue.add(key, Lane::Urgent),
            Observed::News => self.queue.add(key, Lane::Normal),
        }
    }

    /// InfraEnvs: one that approves its Agents has those looked at that are not approved.
    pub(super) async fn infra_envs(self: Arc<Self>, client: Client, mut writer: Writer<InfraEnv>) {
        let stream = watch(Api::<InfraEnv>::all(client), watcher::Config::default()).default_backoff();
        let mut stream = pin!(stream);
        while let Some(event) = stream.next().await {
            let Some(mut event) = heard("infraenvs", event) else {
                continue;
            };
            if let Event::Apply(infra_env) | Event::InitApply(infra_env) = &mut event {
                infra_env.metadata.managed_fields = None;
                infra_env.status = None;
            }
            writer.apply_watcher_event(&event);
            let Event::Apply(infra_env) = event else { continue };
            if desired::approves(&infra_env) {
                let (namespace, name) = (infra_env.namespace(), infra_env.name_any());
                let keys = self.agents.keys(|known| {
                    let agent = &known.agent;
                    !agent.spec.approved
                        && agent.metadata.namespace == namespace
                        && agent.labels().get(label::INFRA_ENV) == Some(&name)
                });
                self.queue.add_all(keys, Lane::Urgent);
            }
        }
    }

    /// AgentClassifications: another query, or none any more, has all Agents of the namespace looked at.
    pub(super) async fn classifications(
        self: Arc<Self>,
        client: Client,
        mut writer: Writer<AgentClassification>,
    ) {
        let mut seen: HashMap<KubeRef, (Option<i64>, bool)> = HashMap::new();
        let api = Api::<AgentClassification>::all(client);
        let stream = watch(api, watcher::Config::default()).default_backoff();
        let mut stream = pin!(stream);
        while let Some(event) = stream.next().await {
            let Some(event) = heard("agentclassifications", event) else {
                continue;
            };
            writer.apply_watcher_event(&event);
            let (Event::Apply(one) | Event::InitApply(one)) = &event else {
                if let Event::Delete(one) = &event {
                    seen.remove(&kube_ref(one));
                }
                self.agents.relabelled.notify_one();
                continue;
            };
            let state = (one.metadata.generation, one.metadata.deletion_timestamp.is_some());
            if seen.insert(kube_ref(one), state) != Some(state) {
                let namespace = &one.metadata.namespace;
                let keys = self
                    .agents
                    .keys(|known| known.agent.metadata.namespace == *namespace);
                self.queue.add_all(keys, Lane::Normal);
                self.agents.relabelled.notify_one();
            }
        }
    }

    /// Secrets that were read once: a changed one has those Agents looked at that name it.
    pub(super) async fn secrets(
        self: Arc<Self>,
        client: Client,
        mut writer: Writer<PartialObjectMeta<KubeSecret>>,
    ) {
        let api = Api::<PartialObjectMeta<KubeSecret>>::all(client);
        let stream = watch(api, secrets::watched()).default_backoff();
        let mut stream = pin!(stream);
        while let Some(event) = stream.next().await {
            let Some(event) = heard("secrets", event) else {
                continue;
            };
            writer.apply_watcher_event(&event);
            let (Event::Apply(secret) | Event::Delete(secret)) = &event else {
                continue;
            };
            let reference = NamespacedReference {
                name: secret.name_any(),
                namespace: secret.namespace().unwrap_or_default(),
            };
            let keys = self.agents.keys(|known| {
                known.agent.spec.ignition_endpoint_token_reference.as_ref() == Some(&reference)
            });
            self.queue.add_all(keys, Lane::Normal);
        }
    }
}

fn is_synced(known: &Known) -> bool {
    let conditions = known.agent.status.iter().flat_map(|status| &status.conditions);
    conditions
        .filter(|condition| condition.type_ == Kind::SpecSynced.name())
        .any(|condition| condition.status == "True")
}

/// What a watch showed; `None`: it was interrupted, and goes on by itself.
fn heard<K: Resource + Clone + Debug + DeserializeOwned + Send + 'static>(
    what: &str,
    event: Result<Event<K>, watcher::Error>,
) -> Option<Event<K>> {
    event
        .inspect_err(|error| tracing::debug!(what, %error, "a watch was interrupted; it goes on by itself"))
        .ok()
}
