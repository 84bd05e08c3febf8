//! The hosts that are joining one cluster: reads them, has each assessed, and has the actions carried out.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Api, Resource, ResourceExt};
use muster_controller::events;
use muster_core::record::{Host, KubeRef};
use muster_operations::now;
use muster_resources::cluster_api::Machine;
use muster_resources::{Agent, names};
use muster_workload::in_place;
use muster_workload::node_settings::NodeSettings;
use tokio::time::Instant;

use super::act::{Actor, tell};
use super::assess::{Assessment, Known, assess, identity};
use super::awaited::{Awaited, Warning};
use super::cluster::Place;
use super::pending;
use super::queue::{Key, Queue};
use super::view::View;
use super::words;
use crate::context::Context;
use crate::error::{Error, unless_absent};

/// Hosts that are changed at the same time.
const CONCURRENCY: usize = 4;

/// Wait after something failed, doubled with each failure in a row.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Most warnings that are remembered as published.
const MOST_TOLD: usize = 10_000;

/// A host that is joining.
pub struct Member {
    pub host: Host,
    /// Namespace and name of its Agent.
    pub agent: KubeRef,
    pub reference: ObjectReference,
    pub known: Known,
}

/// The hosts of one cluster.
pub struct Members {
    context: Arc<Context>,
    queue: Arc<Queue>,
    members: BTreeMap<Key, Member>,
    /// Keys of warnings.
    told: HashSet<String>,
    retry: Duration,
}

impl Members {
    pub fn new(context: Arc<Context>, queue: Arc<Queue>) -> Self {
        Self {
            context,
            queue,
            members: BTreeMap::new(),
            told: HashSet::new(),
            retry: FIRST_RETRY,
        }
    }

    /// Reads the hosts that changed. False when some could not be read; they are read again next time.
    pub async fn refresh(&mut self) -> bool {
        let mut is_complete = true;
        for (key, is_joining) in self.queue.take_changed() {
            if !is_joining {
                self.members.remove(&key);
                continue;
            }
            match self.member(key).await {
                Ok(Some(member)) => {
                    self.members.insert(key, member);
                }
                Ok(None) => {
                    self.members.remove(&key);
                }
                Err(error) => {
                    tracing::warn!(host.id = %key.1, %error, "a joining host cannot be read; trying again");
                    self.queue.add_silently(key);
                    is_complete = false;
                }
            }
        }
        is_complete
    }

    async fn member(&self, key: Key) -> Result<Option<Member>, Error> {
        let (infra_env_id, id) = key;
        let operations = &self.context.operations;
        let Some(host) = operations.hosts.find(infra_env_id, id).await? else {
            return Ok(None);
        };
        let record = operations.infra_envs.find(infra_env_id).await?;
        let Some(infra_env) = record.and_then(|record| record.kube.clone()) else {
            return Ok(None);
        };
        let agent = KubeRef::new(infra_env.namespace, id.to_string());
        let api = Api::<Agent>::namespaced(self.context.client.clone(), &agent.namespace);
        // The host is being removed if it has no Agent.
        let Some(resource) = unless_absent(api.get(&agent.name).await)? else {
            return Ok(None);
        };
        let is_claimed = resource.labels().contains_key(names::label::AGENT_MACHINE_REF);
        let machine = self.machine(&resource).await?;
        let reference = resource.object_ref(&());
        let recorded = resource.status.and_then(|status| status.csr_status);
        Ok(Some(Member {
            host,
            agent,
            reference,
            known: Known {
                approved: recorded.map(|status| status.approved_csrs).unwrap_or_default(),
                sets_provider_id: is_claimed && self.context.sets_provider_ids,
                settings: machine.as_ref().and_then(NodeSettings::of),
                upgrade: machine.as_ref().and_then(in_place::upgrade),
            },
        }))
    }

    /// The Machine of a NodePool that an Agent is taken for.
    async fn machine(&self, agent: &Agent) -> Result<Option<Machine>, Error> {
        if !self.context.has_node_pools {
            return Ok(None);
        }
        let taken_for = agent.labels().get(names::label::AGENT_MACHINE_REF);
        let namespace = agent
            .annotations()
            .get(names::annotation::AGENT_MACHINE_REF_NAMESPACE);
        let (Some(name), Some(namespace)) = (taken_for, namespace) else {
            return Ok(None);
        };
        // A Machine of a NodePool has the name of its AgentMachine.
        let api = Api::<Machine>::namespaced(self.context.client.clone(), namespace);
        Ok(unless_absent(api.get(name).await)?)
    }

    /// Reports for all hosts that they wait for this.
    pub async fn tell_all(&mut self, awaited: &Awaited) {
        for member in self.members.values_mut() {
            // A report that cannot be stored now is stored with the next assessment.
            tell(&self.context, member, Some(awaited.clone())).await;
        }
    }

    /// Assesses all hosts, and carries out the actions. Returns the time of the next assessment even if nothing changes.
    pub async fn look(&mut self, place: &Place, view: &View) -> Option<Instant> {
        let mut is_done = self.refresh().await;
        if !view.is_complete() {
            return (!is_done).then(|| self.retry_at());
        }
        let time = now();
        let assessed: Vec<(Key, Assessment)> = self
            .members
            .iter()
            .map(|(key, member)| (*key, assess(&member.host, &member.known, view, time)))
            .collect();
        let again = assessed
            .iter()
            .filter_map(|(_, assessment)| assessment.again)
            .min();
        self.report_pending(place, view, &assessed);
        for (key, assessment) in &assessed {
            let reference = self.members[key].reference.clone();
            for warning in &assessment.warnings {
                self.warn(warning, &reference);
            }
        }
        let actor = Actor {
            context: &self.context,
            client: &place.workload.client,
        };
        // Assessments and members have the same order.
        let mut work: Vec<BoxFuture<'_, bool>> = Vec::with_capacity(assessed.len());
        for (member, (_, assessment)) in self.members.values_mut().zip(assessed) {
            work.push(actor.act(member, assessment, view).boxed());
        }
        let outcomes: Vec<bool> = stream::iter(work).buffer_unordered(CONCURRENCY).collect().await;
        is_done &= outcomes.into_iter().all(|is_done| is_done);
        let retry_at = if is_done {
            self.retry = FIRST_RETRY;
            None
        } else {
            Some(self.retry_at())
        };
        let again = again.map(|at| Instant::now() + (at - time).to_std().unwrap_or_default());
        [retry_at, again].into_iter().flatten().min()
    }

    fn retry_at(&mut self) -> Instant {
        let at = Instant::now() + self.retry;
        self.retry = (self.retry * 2).min(LONGEST_RETRY);
        at
    }

    /// Shows the requests that stay pending, and reports those that belong to no joining host, each once.
    fn report_pending(&mut self, place: &Place, view: &View, assessed: &[(Key, Assessment)]) {
        let identities: Vec<String> = self
            .members
            .values()
            .map(|member| identity(&member.host).hostname)
            .collect();
        let assessments: Vec<&Assessment> = assessed.iter().map(|(_, assessment)| assessment).collect();
        let open = pending::pending(view, &identities, &assessments);
        self.context.operations.bridge.requests().set(place.id, open);
        let names = pending::Names::of(&identities);
        let foreign: Vec<Warning> = view
            .csrs()
            .filter(|csr| pending::is_foreign(csr, view, &names))
            .map(|csr| words::foreign(csr, &identities))
            .collect();
        let deployment = place.deployment.object_ref(&());
        for warning in foreign {
            self.warn(&warning, &deployment);
        }
    }

    fn warn(&mut self, warning: &Warning, object: &ObjectReference) {
        if self.told.len() >= MOST_TOLD {
            self.told.clear();
        }
        let key = format!("{} {}", object.uid.as_deref().unwrap_or_default(), warning.key);
        if self.told.insert(key) {
            tracing::info!(
                reason = warning.reason,
                note = warning.note,
                "about a joining host"
            );
            let (kind, name) = &warning.about;
            let mut event = events::warning("Join", warning.reason, &warning.note);
            event.secondary = Some(ObjectReference {
                kind: Some((*kind).to_owned()),
                name: Some(name.clone()),
                ..ObjectReference::default()
            });
            self.context.events.publish(event, object.clone());
        }
    }
}
