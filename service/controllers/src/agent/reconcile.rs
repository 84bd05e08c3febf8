//! One look at one Agent: reads the host, makes it what the spec wants, and writes what differs: at most one patch of the Agent and one of
//! its status. Source: docs/protocol/kube-controllers.md#4.1.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::api::{Patch, PostParams};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, ResourceExt};
use muster_api::ids::{ClusterId, HostId};
use muster_core::host::Host;
use muster_core::infra_env::InfraEnv as Record;
use muster_core::kube::KubeRef;
use muster_resources::names::label;
use muster_resources::{Agent, AgentClassification, AgentSpec, AgentStatus, InfraEnv};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::conditions::Synced;
use super::desired::{self, Wanted};
use super::host_side::Outcome;
use super::known::{Agents, Known, digest};
use super::queue::Lane;
use super::token::Tokens;
use super::{inventory, links, membership, patch, patch_params, status};
use crate::agent_labels::Labels;
use crate::error::unless_absent;
use crate::{Context, Error, kube_ref};
use muster_operations::now;

/// How long a host that has just registered is waited for: its inventory nearly always comes within, and then one write tells all.
const YOUNG: chrono::Duration = chrono::Duration::seconds(1);

/// What a look needs.
pub struct Reconciler {
    /// The service and its Kubernetes API.
    pub context: Arc<Context>,
    /// Agents as they are known.
    pub agents: Arc<Agents>,
    /// InfraEnvs' resources.
    pub infra_envs: Store<InfraEnv>,
    /// AgentClassifications.
    pub classifications: Store<AgentClassification>,
    /// What they say.
    pub labels: Arc<Labels>,
    /// Tokens for Ignition endpoints.
    pub tokens: Tokens,
    /// Names of clusters, which never change.
    pub cluster_names: Mutex<HashMap<ClusterId, Option<KubeRef>>>,
}

/// When to look again though nothing happens.
pub type Again = Option<Instant>;

pub(super) fn after(wait: Duration) -> Again {
    Some(Instant::now() + wait)
}

/// The host that an Agent of this name stands for.
pub fn host_id(name: &str) -> Option<HostId> {
    let id: HostId = name.parse().ok()?;
    // Other spellings of an id name no host.
    (id.to_string() == name).then_some(id)
}

impl Reconciler {
    /// Looks at the Agent `key`, or makes it.
    ///
    /// # Errors
    /// When it must be tried again.
    pub async fn reconcile(&self, key: &KubeRef, lane: Lane) -> Result<Again, Error> {
        let known = self.agents.get(key);
        let Some(id) = host_id(&key.name) else {
            return match known {
                Some(known) => self.not_a_host(&known).await,
                None => Ok(None),
            };
        };
        let host = self
            .context
            .app
            .store
            .find_host_by_kube(&key.namespace, id)
            .await?;
        match (known, host) {
            (None, None) => {
                self.labels.forget(key);
                self.tokens.forget(key);
                Ok(None)
            }
            (Some(known), host) if known.is_deleting() => self.delete(&known, host).await,
            (Some(known), None) => self.without_host(key, &known, id, lane).await,
            (Some(known), Some(host)) => self.sync(key, known, host, lane).await,
            (None, Some(host)) => match self.create(key, &host).await? {
                Some(known) => self.sync(key, known, host, lane).await,
                None => Ok(None),
            },
        }
    }

    pub(super) fn api(&self, namespace: &str) -> Api<Agent> {
        Api::namespaced(self.context.client.clone(), namespace)
    }

    /// The custom resource of an InfraEnv; `None`: it is not there.
    pub(super) async fn resource(&self, record: &Record) -> Result<Option<Arc<InfraEnv>>, Error> {
        let Some(name) = &record.kube else {
            return Ok(None);
        };
        let watched = ObjectRef::<InfraEnv>::new(&name.name).within(&name.namespace);
        if let Some(found) = self.infra_envs.get(&watched) {
            return Ok(Some(found));
        }
        // The watch may be a moment behind.
        let api = Api::<InfraEnv>::namespaced(self.context.client.clone(), &name.namespace);
        Ok(api.get_opt(&name.name).await?.map(Arc::new))
    }

    /// Makes the Agent of a host; `None`: it shall have none.
    async fn create(&self, key: &KubeRef, host: &Host) -> Result<Option<Arc<Known>>, Error> {
        let Some(record) = self.context.app.infra_envs.find(host.infra_env_id).await? else {
            return Ok(None);
        };
        let Some(resource) = self.resource(&record).await? else {
            return Err(Error::Internal(format!(
                "the InfraEnv of host {} has no custom resource; its Agent is made when it is back",
                host.id
            )));
        };
        if resource.metadata.deletion_timestamp.is_some() {
            return Ok(None);
        }
        let cluster = self.cluster_name(host).await?;
        let mut agent = desired::agent(&resource, host, cluster.as_ref());
        let classified = self.classified(key, host, agent.labels()).await?;
        let set = classified
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        agent.labels_mut().extend(set);
        let params = PostParams {
            field_manager: Some(super::FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        match self.api(&key.namespace).create(&params, &agent).await {
            Ok(made) => {
                tracing::info!(host.id = %host.id, agent = %key, "Agent made");
                Ok(Some(self.agents.wrote(made)))
            }
            // Made before, and the watch is behind; or somebody was quicker.
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                let there = self.api(&key.namespace).get_opt(&key.name).await?;
                Ok(there.map(|agent| self.agents.wrote(agent)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The Agent and its host are there.
    pub(super) async fn sync(
        &self,
        key: &KubeRef,
        known: Arc<Known>,
        host: Host,
        lane: Lane,
    ) -> Result<Again, Error> {
        let now = now();
        if known.is_deleting() {
            return self.delete(&known, Some(host)).await;
        }
        let age = now - host.data.registered_at;
        if lane == Lane::Normal && known.agent.status.is_none() && host.inventory.is_none() && age < YOUNG {
            return Ok(after((YOUNG - age).to_std().unwrap_or_default()));
        }
        let app = &self.context.app;
        let Some(record) = app.infra_envs.find(host.infra_env_id).await? else {
            return Ok(None);
        };
        let resource = self.resource(&record).await?;
        let mut spec = known.agent.spec.clone();
        if let Some(resource) = &resource {
            self.follow_infra_env(&known.agent, &mut spec, resource, &host)
                .await?;
        }
        let Outcome {
            host,
            synced,
            left,
            again,
        } = self.change_host(key, &spec, host, &record).await;
        if again.is_some()
            && let Synced::Backend(why) = &synced
        {
            tracing::debug!(agent = %key, why, "an Agent's spec cannot be followed yet");
        }
        let known = self
            .write_agent(key, known, &spec, &host, resource.as_deref())
            .await?;
        let Some(known) = known else {
            return Ok(None);
        };
        let before = known.status();
        let events = links::events(app, &record, &host, &before, now);
        let logs = links::logs(app, &host);
        let look = status::Look {
            host: &host,
            approved: spec.approved,
            synced: &synced,
            events_url: events.as_deref(),
            logs_url: logs.as_deref(),
            left: left.as_ref(),
        };
        self.write_status(&known, status::of_host(&look, &before, now))
            .await?;
        Ok(again.and_then(after))
    }

    /// What the InfraEnv's resource wants of the spec: approval, and a new beginning for a machine that comes from another cluster's
    /// InfraEnv.
    async fn follow_infra_env(
        &self,
        agent: &Agent,
        spec: &mut AgentSpec,
        resource: &InfraEnv,
        host: &Host,
    ) -> Result<(), Error> {
        let name = resource.name_any();
        let moved = agent
            .labels()
            .get(label::INFRA_ENV)
            .filter(|present| **present != name);
        if let Some(from) = moved {
            let cluster = self.cluster_name(host).await?;
            self.leave_infra_env(&resource.namespace().unwrap_or_default(), from, host.id)
                .await?;
            if cluster.is_some() && cluster != membership::wanted(spec) {
                *spec = AgentSpec {
                    cluster_deployment_name: cluster.as_ref().map(desired::reference),
                    ..AgentSpec::default()
                };
            }
        }
        spec.approved |= desired::approves(resource);
        Ok(())
    }

    /// Labels of AgentClassifications.
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
        let inventory = host.inventory.as_ref().map(inventory::shown);
        let with_digest = inventory.as_ref().map(|inventory| (inventory, digest(inventory)));
        self.labels
            .wanted(key, with_digest, &here, present)
            .await
            .map_err(|error| {
                Error::Internal(format!(
                    "queries of AgentClassifications cannot be asked: {error}"
                ))
            })
    }

    /// Writes what differs of the Agent beside its status. `None`: it is gone.
    async fn write_agent(
        &self,
        key: &KubeRef,
        known: Arc<Known>,
        spec: &AgentSpec,
        host: &Host,
        resource: Option<&InfraEnv>,
    ) -> Result<Option<Arc<Known>>, Error> {
        let classified = self.classified(key, host, known.agent.labels()).await?;
        let cluster = self.cluster_name(host).await?;
        let spec_patch = patch::difference(&json!(known.agent.spec), &json!(spec));
        let wanted = Wanted {
            host,
            infra_env: resource,
            cluster_namespace: cluster.as_ref().map(|cluster| cluster.namespace.as_str()),
            classified: &classified,
            spec: spec_patch.as_ref(),
        };
        let Some(patch) = desired::patch(&known.agent, &wanted) else {
            return Ok(Some(known));
        };
        self.patch(key, &patch).await
    }

    /// Patches an Agent. `None`: it is gone.
    pub(super) async fn patch(&self, key: &KubeRef, patch: &Value) -> Result<Option<Arc<Known>>, Error> {
        let api = self.api(&key.namespace);
        let patched = api.patch(&key.name, &patch_params(), &Patch::Merge(patch)).await;
        self.written(key, patched)
    }

    /// Writes what differs of the status.
    pub(super) async fn write_status(&self, known: &Known, new: AgentStatus) -> Result<(), Error> {
        let Some(patch) = patch::status(known, new) else {
            return Ok(());
        };
        let key = kube_ref(&known.agent);
        let patch = Value::Object(Map::from_iter([("status".to_owned(), patch)]));
        let api = self.api(&key.namespace);
        let patched = api
            .patch_status(&key.name, &patch_params(), &Patch::Merge(patch))
            .await;
        self.written(&key, patched).map(drop)
    }

    fn written(&self, key: &KubeRef, outcome: kube::Result<Agent>) -> Result<Option<Arc<Known>>, Error> {
        let written = unless_absent(outcome)?.map(|agent| self.agents.wrote(agent));
        if written.is_none() {
            self.agents.forget(key);
        }
        Ok(written)
    }

    /// The ClusterDeployment of the host's cluster; `None` when it is unbound, or its cluster was made by REST.
    pub(super) async fn cluster_name(&self, host: &Host) -> Result<Option<KubeRef>, Error> {
        let Some(id) = host.cluster_id else {
            return Ok(None);
        };
        let names = || self.cluster_names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = names().get(&id) {
            return Ok(name.clone());
        }
        let name = match self.context.app.clusters.find(id, true).await {
            Ok(stored) => stored.cluster.kube,
            Err(error) if error.is_missing() => None,
            Err(error) => return Err(error.into()),
        };
        names().insert(id, name.clone());
        Ok(name)
    }

    /// The cluster of a ClusterDeployment.
    pub(super) async fn cluster_of(&self, deployment: &KubeRef) -> Result<Option<ClusterId>, Error> {
        let found = self.context.app.clusters.find_by_kube(deployment).await?;
        Ok(found.map(|cluster| cluster.id))
    }
}
