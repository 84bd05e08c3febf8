//! Reconciles one Agent: reads the host, makes it match the spec, and writes what differs: at most one
//! patch of the Agent and one of its status. Source: docs/protocol/kube-controllers.md#4.1.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use kube::api::Patch;
use kube::core::DeserializeGuard;
use kube::runtime::controller::Action;
use kube::runtime::reflector::Store;
use kube::{Api, Resource, ResourceExt};
use muster_api::ids::{ClusterId, HostId};
use muster_controller::conditions::Synced;
use muster_controller::digest::digest;
use muster_controller::events::warning;
use muster_controller::health;
use muster_controller::merge_patch::merge_patch;
use muster_controller::references::{kube_ref, object_ref};
use muster_controller::status::send;
use muster_controller::writes::{patch_params, post_params};
use muster_core::lifecycle::host::deadline::end_of_wait;
use muster_core::record;
use muster_core::record::{Agreed, Host, ImageWish, KubeRef, Phase};
use muster_operations::now;
use muster_resources::names::{annotation, label};
use muster_resources::{Agent, AgentClassification, AgentSpec, AgentStatus, InfraEnv};
use serde_json::{Value, json};

use super::cache::AgentCache;
use super::cached::CachedAgent;
use super::desired::{self, DesiredAgent};
use super::lanes::Turns;
use super::lifecycle::orphans::Orphans;
use super::lifecycle::refused::is_refusal;
use super::spec::host_side::Outcome;
use super::spec::image;
use super::spec::mirrored::{self, Place};
use super::spec::token::Tokens;
use super::status::{conditions, inventory, links, wait};
use super::{metadata, patch, status};
use crate::agent_labels::Labels;
use crate::context::Context;
use crate::error::{Error, unless_absent};

/// Age until which the first status of a host waits for its inventory, which nearly always comes within; then
/// one write reports all. A changed spec does not wait.
const YOUNG: chrono::Duration = chrono::Duration::seconds(3);

/// Action and reason of the Event about a spec that names an unknown cluster. Its condition has the protocol's reason
/// `BackendError`, which is also the one of waits, and has no Event.
const UNKNOWN_CLUSTER: &str = "UnknownCluster";

/// Reconciles Agents; one for both lanes.
pub struct Reconciler {
    pub context: Arc<Context>,
    /// Agents to be made that lack their InfraEnvs.
    pub orphans: Arc<Orphans>,
    pub agents: Arc<AgentCache>,
    /// InfraEnvs' resources, without status.
    pub infra_envs: Store<InfraEnv>,
    pub classifications: Store<AgentClassification>,
    /// Labels that the classifications put on Agents.
    pub labels: Arc<Labels>,
    /// Tokens for Ignition endpoints.
    pub tokens: Tokens,
    pub turns: Turns,
    /// Names of clusters, which never change.
    pub cluster_names: Mutex<HashMap<ClusterId, KubeRef>>,
}

/// The host that an Agent of this name stands for.
pub fn host_id(name: &str) -> Option<HostId> {
    let id: HostId = name.parse().ok()?;
    // Other spellings of an id name no host.
    (id.to_string() == name).then_some(id)
}

/// The InfraEnv that owns an Agent. The label names the InfraEnv, too, and is edited more easily.
fn owner(agent: &CachedAgent) -> Option<&String> {
    let mut owners = agent.owner_references().iter();
    let owner = owners.find(|owner| owner.kind == InfraEnv::kind(&()));
    owner.map(|owner| &owner.name)
}

/// True if an Agent was made for another host than the one that has its name now: its machine registered in another InfraEnv, or again
/// after the host was deleted. An approved host, or one that is being installed, never is that new host, whatever the Agent's fields hold.
fn begins_anew(agent: &CachedAgent, host: &Host, infra_env: &str) -> bool {
    let is_new = !host.data.approved && matches!(host.state.phase(), Phase::Unbound | Phase::PreInstall);
    is_new && (owner(agent).is_some_and(|owner| owner != infra_env) || is_of_another(agent, host))
}

/// True if an Agent was made for a host that was deleted before `host` registered.
pub(super) fn is_of_another(agent: &CachedAgent, host: &Host) -> bool {
    let since = agent.annotations().get(annotation::AGENT_HOST_SINCE);
    since.is_some_and(|since| *since != metadata::since(host))
}

/// Chooses the host that the Agent shows among the hosts of its name: that of its InfraEnv.
fn shown<'a>(hosts: &'a [(String, Host)], agent: &CachedAgent) -> Option<&'a Host> {
    let of = owner(agent).or_else(|| agent.labels().get(label::INFRA_ENV));
    let mut hosts = hosts.iter();
    let found = hosts.find(|(infra_env, _)| of.is_none_or(|of| of == infra_env));
    found.map(|(_, host)| host)
}

impl Reconciler {
    /// Reconciles an Agent. `agent` may be older than the cached one; after a conflict it is newer.
    ///
    /// # Errors
    /// Fails if the reconcile must be tried again.
    pub async fn reconcile(&self, agent: Arc<CachedAgent>) -> Result<Action, Error> {
        let key = kube_ref(&*agent);
        let _turn = self.turns.wait(&key).await;
        let known = match self.agents.get(&key) {
            None => return Ok(Action::await_change()),
            Some(known) if agent.is_covered_by(&known) => known,
            Some(_) => self.agents.answered((*agent).clone()),
        };
        let Some(id) = host_id(&key.name) else {
            return self.not_a_host(&known).await;
        };
        let hosts = self.find_hosts(&key, id).await?;
        let shown = shown(&hosts, &known);
        if known.is_deleting() {
            return Box::pin(self.delete(&known, shown.cloned())).await;
        }
        // A machine of this id in another InfraEnv: no Agent is created for it while this one shows another.
        match shown
            .cloned()
            .or_else(|| hosts.into_iter().next().map(|(_, host)| host))
        {
            Some(host) => Box::pin(self.sync(&key, known, host)).await,
            None => Box::pin(self.without_host(&key, &known, id)).await,
        }
    }

    /// Creates the Agent `key` if it is missing and its host exists. True when there is an Agent to
    /// reconcile.
    ///
    /// # Errors
    /// Fails if the creation must be tried again.
    pub async fn ensure(&self, key: &KubeRef) -> Result<bool, Error> {
        let _turn = self.turns.wait(key).await;
        if self.agents.get(key).is_some() {
            return Ok(true);
        }
        let host = match host_id(&key.name) {
            Some(id) => self.find_hosts(key, id).await?.into_iter().next(),
            None => None,
        };
        match host {
            Some((_, host)) => self.create(key, &host).await,
            None => {
                self.labels.forget(key);
                self.tokens.forget(key);
                self.orphans.forget(key);
                self.context.refused_agents.forget(key);
                Ok(false)
            }
        }
    }

    /// The hosts that an Agent of this name may stand for, each with the name of its InfraEnv; the one that registered last first.
    async fn find_hosts(&self, key: &KubeRef, id: HostId) -> Result<Vec<(String, Host)>, Error> {
        Ok(self.context.operations.hosts.of_agent(&key.namespace, id).await?)
    }

    pub(super) fn api(&self, namespace: &str) -> Api<Agent> {
        Api::namespaced(self.context.client.clone(), namespace)
    }

    /// The custom resource of an InfraEnv; `None`: it does not exist.
    pub(super) async fn resource(&self, record: &record::InfraEnv) -> Result<Option<Arc<InfraEnv>>, Error> {
        let Some(name) = &record.kube else {
            return Ok(None);
        };
        if let Some(found) = self.infra_envs.get(&object_ref(name)) {
            return Ok(Some(found));
        }
        // The watch may be behind.
        let api = Api::<InfraEnv>::namespaced(self.context.client.clone(), &name.namespace);
        Ok(api.get_opt(&name.name).await?.map(Arc::new))
    }

    /// Creates the Agent of a host. False when it shall have none, or has one that cannot be read.
    async fn create(&self, key: &KubeRef, host: &Host) -> Result<bool, Error> {
        let Some(record) = self.context.operations.infra_envs.find(host.infra_env_id).await? else {
            return Ok(false);
        };
        let Some(name) = &record.kube else {
            return Ok(false);
        };
        let resource = match self.resource(&record).await? {
            Some(resource) => resource,
            None => {
                self.orphans.add(name, key);
                // The watch shows the InfraEnv when it is created. That may just have happened.
                let Some(resource) = self.infra_envs.get(&object_ref(name)) else {
                    return Ok(false);
                };
                self.orphans.forget(key);
                resource
            }
        };
        if resource.metadata.deletion_timestamp.is_some() {
            return Ok(false);
        }
        let cluster = self.cluster_name(host).await?;
        let mut agent = desired::agent(&resource, host, cluster.as_ref(), record.mirror.is_some());
        let classified = self.classified(key, host, agent.labels()).await?;
        let set = classified
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        agent.labels_mut().extend(set);
        match self.api(&key.namespace).create(&post_params(), &agent).await {
            Ok(created) => {
                tracing::info!(host.id = %host.id, agent = %key, "Agent created");
                self.context.refused_agents.set(name, &key.name, None);
                self.agents.answered(created.into());
                Ok(true)
            }
            // The Agent was created before, and the watch is behind; or another writer was faster.
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                let client = self.context.client.clone();
                let api = Api::<DeserializeGuard<CachedAgent>>::namespaced(client, &key.namespace);
                let present = api.get_opt(&key.name).await?.and_then(|agent| agent.0.ok());
                Ok(present.map(|agent| self.agents.answered(agent)).is_some())
            }
            Err(error) => {
                if let kube::Error::Api(status) = &error
                    && is_refusal(status)
                {
                    let why = Some(status.message.clone());
                    self.context.refused_agents.set(name, &key.name, why);
                }
                Err(error.into())
            }
        }
    }

    /// Reconciles an Agent that has a host.
    pub(super) async fn sync(
        &self,
        key: &KubeRef,
        known: Arc<CachedAgent>,
        mut host: Host,
    ) -> Result<Action, Error> {
        let now = now();
        let age = now - host.data.registered_at;
        let is_as_created = known.metadata.generation.is_none_or(|generation| generation <= 1);
        if !known.has_status() && host.inventory.is_none() && is_as_created && age < YOUNG {
            return Ok(Action::requeue((YOUNG - age).to_std().unwrap_or_default()));
        }
        let operations = &self.context.operations;
        let Some(record) = operations.infra_envs.find(host.infra_env_id).await? else {
            return Ok(Action::await_change());
        };
        let resource = self.resource(&record).await?;
        // Approval is applied first.
        let begins_anew = |resource: &&Arc<InfraEnv>| begins_anew(&known, &host, &resource.name_any());
        let begun_in = resource.as_ref().filter(begins_anew).cloned();
        let followed = self.follow_requests(known, &mut host, begun_in.is_some());
        let Some(known) = followed.await? else {
            return Ok(Action::await_change());
        };
        let mut spec = match &begun_in {
            Some(resource) => {
                let cluster = self.cluster_name(&host).await?;
                desired::agent(resource, &host, cluster.as_ref(), record.mirror.is_some()).spec
            }
            None => known.spec.clone(),
        };
        if let Some(resource) = &resource {
            if record.mirror.is_none() {
                desired::name(&mut spec, &host);
            }
            spec.approved |= desired::approves(resource);
        }
        let agreed = record.mirror.as_ref().map(|_| match begun_in {
            Some(_) => mirrored::at_first(&spec),
            None => mirrored::agreed(&known),
        });
        if let Some(agreed) = &agreed {
            let cluster = self.cluster_name(&host).await?;
            spec = mirrored::merged(agreed, &spec, &host, Place::of(&host, cluster.as_ref()));
        }
        let image = match &begun_in {
            // It was requested for another host.
            Some(_) => ImageWish::default(),
            None => image::wish(known.annotations()),
        };
        let Outcome {
            host,
            synced,
            left,
            unknown_cluster,
            waits,
            retry,
        } = self.change_host(key, (&spec, &image), host, &record).await;
        if retry.is_some()
            && let Synced::Backend(why) = &synced
        {
            tracing::debug!(agent = %key, why, "an Agent's spec cannot be followed yet");
        }
        let (host, again) = Box::pin(self.reboot(key, &known, host)).await;
        let (host, later) = Box::pin(self.reinstall(key, &known, host)).await;
        let retry = retry.into_iter().chain(again).chain(later).min();
        let known = self
            .write_agent(
                key,
                known,
                (&spec, begun_in.is_some()),
                &host,
                (resource.as_deref(), agreed),
            )
            .await?;
        let Some(known) = known else {
            return Ok(Action::await_change());
        };
        let before = known.status();
        let events = links::events(operations, &record, &host, &before, now);
        let logs = links::logs(operations, &host, &before, now).await?;
        let awaited = self.context.joining.get(key);
        let inputs = status::Inputs {
            host: &host,
            approved: spec.approved,
            synced: &synced,
            waits: waits.as_deref(),
            events_url: events.as_deref(),
            logs_url: logs.as_deref(),
            left: left.as_ref(),
            awaited: awaited.as_ref(),
        };
        let unsynced_since = conditions::unsynced_since(&before, &synced, now);
        let wait = wait::of_host(
            &host,
            spec.approved,
            &synced,
            unsynced_since,
            awaited.as_ref(),
            (
                waits.as_deref(),
                end_of_wait(&host, &operations.hosts.deadlines(&host)),
            ),
        );
        self.context.waits.set(&known.object_ref(&()), wait);
        self.write_status(&known, status::of_host(&inputs, &before, now))
            .await?;
        let named = unknown_cluster.filter(|why| !conditions::say(&before, why));
        if let Some(why) = named {
            let event = warning(UNKNOWN_CLUSTER, UNKNOWN_CLUSTER, &why);
            self.context.events.publish(event, known.object_ref(&()));
        }
        let signed = (events.is_some() || logs.is_some())
            .then(|| operations.auth.url_renewal())
            .flatten();
        let next = retry.into_iter().chain(signed).min();
        Ok(next.map_or_else(Action::await_change, Action::requeue))
    }

    /// Returns the labels of AgentClassifications.
    async fn classified(
        &self,
        key: &KubeRef,
        host: &Host,
        present: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, Option<String>>, Error> {
        let mut here: Vec<Arc<AgentClassification>> = self
            .classifications
            .state()
            .into_iter()
            .filter(|one| one.metadata.namespace.as_deref() == Some(key.namespace.as_str()))
            .collect();
        if here.is_empty() {
            return Ok(BTreeMap::new());
        }
        here.sort_by_key(|one| one.metadata.name.clone());
        let inventory = host.inventory.as_deref().map(inventory::shown);
        let with_digest = inventory.as_ref().map(|inventory| (inventory, digest(inventory)));
        self.labels
            .wanted(key, with_digest, &here, present)
            .await
            .map_err(|error| {
                Error::internal(format!(
                    "queries of AgentClassifications cannot be evaluated: {error}"
                ))
            })
    }

    /// Writes the differences of the Agent without its status. `None`: the Agent is gone. `agreed`: as it was before the host was changed.
    async fn write_agent(
        &self,
        key: &KubeRef,
        known: Arc<CachedAgent>,
        (spec, begins_anew): (&AgentSpec, bool),
        host: &Host,
        (resource, agreed): (Option<&InfraEnv>, Option<Agreed>),
    ) -> Result<Option<Arc<CachedAgent>>, Error> {
        let classified = self.classified(key, host, known.labels()).await?;
        let cluster = self.cluster_name(host).await?;
        let place = Place::of(host, cluster.as_ref());
        let agreed = agreed.map(|agreed| mirrored::agree(&agreed, spec, host, place));
        let spec_patch = merge_patch(&json!(known.spec), &json!(spec));
        let wanted = DesiredAgent {
            host,
            infra_env: resource,
            begins_anew,
            cluster_namespace: cluster.as_ref().map(|cluster| cluster.namespace.as_str()),
            classified: &classified,
            spec: spec_patch.as_ref(),
            agreed: agreed.as_ref(),
        };
        let Some(patch) = desired::patch(&known, &wanted) else {
            return Ok(Some(known));
        };
        self.patch(&known, &patch).await
    }

    /// Patches an Agent. `None`: the Agent is gone.
    pub(super) async fn patch(
        &self,
        agent: &CachedAgent,
        patch: &Value,
    ) -> Result<Option<Arc<CachedAgent>>, Error> {
        let api = self.cached_api(agent);
        let patched = api
            .patch(&agent.name_any(), &patch_params(), &Patch::Merge(patch))
            .await;
        self.written(agent, patched)
    }

    /// Writes the differences of the status.
    pub(super) async fn write_status(&self, agent: &CachedAgent, new: AgentStatus) -> Result<(), Error> {
        let mut new = AgentStatus {
            observed_generation: agent.metadata.generation,
            ..new
        };
        health::show(&mut new.conditions, &conditions::SIGNS, now());
        let before = agent.has_status().then(|| agent.status());
        let patch = patch::status(agent, before.as_ref(), new.clone());
        if patch.is_empty() {
            return Ok(());
        }
        let written = send(&self.cached_api(agent), &agent.name_any(), patch).await;
        if self.written(agent, written)?.is_some() {
            let events = &self.context.events;
            events.publish_transitions(agent, before.as_ref(), &new);
        }
        Ok(())
    }

    fn cached_api(&self, agent: &CachedAgent) -> Api<CachedAgent> {
        let namespace = agent.namespace().unwrap_or_default();
        Api::namespaced(self.context.client.clone(), &namespace)
    }

    fn written(
        &self,
        agent: &CachedAgent,
        outcome: kube::Result<CachedAgent>,
    ) -> Result<Option<Arc<CachedAgent>>, Error> {
        let written = unless_absent(outcome)?.map(|agent| self.agents.answered(agent));
        if written.is_none() {
            self.agents.remove(agent);
        }
        Ok(written)
    }

    /// The ClusterDeployment of the host's cluster; `None` when it is unbound, or its cluster was made by
    /// REST.
    pub(super) async fn cluster_name(&self, host: &Host) -> Result<Option<KubeRef>, Error> {
        let Some(id) = host.cluster_id else {
            return Ok(None);
        };
        let names = || self.cluster_names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = names().get(&id) {
            return Ok(Some(name.clone()));
        }
        let name = match self.context.operations.clusters.find(id, true).await {
            Ok(stored) => stored.cluster.kube,
            Err(error) if error.is_missing() => None,
            Err(error) => return Err(error.into()),
        };
        // A cluster that was made by REST gets a name when it is mirrored.
        if let Some(name) = &name {
            names().insert(id, name.clone());
        }
        Ok(name)
    }

    /// The record of a ClusterDeployment's cluster.
    pub(super) async fn cluster_of(&self, deployment: &KubeRef) -> Result<Option<ClusterId>, Error> {
        let found = self.context.operations.clusters.find_by_kube(deployment).await?;
        Ok(found.map(|cluster| cluster.id))
    }
}
