//! Triggers reconciles of AgentMachines, by changes of their Agents, Machines, Clusters, AgentClusters and bootstrap Secrets,
//! and by Agents that may have become free.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Secret;
use kube::core::{DynamicObject, NamespaceResourceScope, PartialObjectMeta};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use kube::{Resource, ResourceExt};
use muster_controller::references::{kube_ref, object_ref};
use muster_controller::watch::Watched;
use muster_controller::{secrets, watch};
use muster_core::record::KubeRef;
use muster_resources::names::{annotation, label};
use muster_resources::{AgentCluster, AgentMachine, AgentMachineTemplate, InfraEnv};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

use super::REASONS_INTERVAL;
use super::reconcile::agent_ref;
use crate::capi::agents::{self, AgentView};
use crate::capi::objects::{Machine, find};
use crate::capi::provider::Provider;

/// Between two searches for AgentMachines that hold up others and wait no more.
const QUEUE_INTERVAL: Duration = Duration::from_secs(30);

/// Least time between two searches of all AgentMachines without an Agent. Hosts report all the time.
const WAITING_INTERVAL: Duration = Duration::from_millis(250);

/// Least time between two computations of what the Agents of all templates have.
const POOLS_INTERVAL: Duration = Duration::from_secs(2);

/// Additional time for each of them: a thousand AgentMachines evaluate a thousand Agents each.
const PER_MACHINE: Duration = Duration::from_millis(2);

/// Turns changes into requests.
pub struct Triggers {
    pub provider: Arc<Provider>,
    /// The store of AgentMachines.
    pub own: Store<AgentMachine>,
    pub requests: UnboundedSender<ObjectRef<AgentMachine>>,
    /// The store of AgentMachineTemplates.
    pub templates: Store<AgentMachineTemplate>,
    pub template_requests: UnboundedSender<ObjectRef<AgentMachineTemplate>>,
    /// Notified when an Agent was created, deleted or changed that can perhaps be taken.
    pub freed: Notify,
    /// Notified when an Agent was taken: for AgentMachines that still search, only the reason against it changes.
    pub taken: Notify,
    /// Notified when the Agents that Machines of a template may be on can be others, or their sizes.
    pub pools: Notify,
}

impl Triggers {
    /// Events of all objects of a kind.
    fn all<K>(
        &self,
        context: &muster_controller::Context,
        writer: &Writer<K>,
    ) -> impl Stream<Item = Event<K>> + Send + use<K>
    where
        K: Watched + Resource<Scope = NamespaceResourceScope>,
    {
        let config = watcher::Config::default();
        watch::watch(context, config, writer.as_reader())
    }

    fn request(&self, machine: &KubeRef) {
        // Sending fails only when the controller has ended.
        let _ = self.requests.send(object_ref(machine));
    }

    /// Requests the AgentMachines for which `which` holds, and returns their number.
    fn request_those(&self, which: impl Fn(&AgentMachine) -> bool) -> usize {
        let those = self.own.state_filter(which);
        for machine in &those {
            self.request(&kube_ref(&**machine));
        }
        those.len()
    }

    /// Handles Agents: each concerns the AgentMachine that took it or waits for it to leave, and those without an Agent.
    pub async fn agents(self: Arc<Self>, mut writer: Writer<AgentView>) {
        let mut stream = pin!(self.all(self.provider.context.of_agents(), &writer));
        while let Some(event) = stream.next().await {
            match &event {
                Event::Apply(agent) | Event::InitApply(agent) => {
                    let name = kube_ref(agent);
                    let before = agents::get(&self.provider.agents, &name);
                    let is_new = before
                        .as_ref()
                        .is_none_or(|before| !before.says_the_same_as(agent));
                    let is_new_to_others = before
                        .as_ref()
                        .is_none_or(|before| !before.candidate.is_the_same_to_others(&agent.candidate));
                    let taken_by = [Some(agent), before.as_deref()]
                        .into_iter()
                        .flatten()
                        .find_map(|one| one.candidate.taken_by.clone());
                    let answer = |one: &AgentView| one.annotations().get(annotation::AGENT_REBOOT).cloned();
                    let has_answered = before.as_deref().and_then(answer) != answer(agent);
                    let reinstall =
                        |one: &AgentView| one.annotations().get(annotation::AGENT_REINSTALL).cloned();
                    let is_reinstalled = before.as_deref().and_then(reinstall) != reinstall(agent);
                    writer.apply_watcher_event(&event);
                    self.provider.zones.note(before.as_deref(), Some(agent));
                    if has_answered {
                        self.provider.remediations.agent_changed(&name);
                    }
                    if is_new || is_reinstalled {
                        self.request_users(&name, taken_by);
                    }
                    if is_new_to_others {
                        let is_taken = agent.candidate.taken_by.is_some();
                        let notify = if is_taken { &self.taken } else { &self.freed };
                        notify.notify_one();
                        self.pools.notify_one();
                    }
                }
                Event::Delete(agent) => {
                    let (name, taken_by) = (kube_ref(agent), agent.candidate.taken_by.clone());
                    writer.apply_watcher_event(&event);
                    self.provider.zones.note(Some(agent), None);
                    self.provider.remediations.agent_changed(&name);
                    self.request_users(&name, taken_by);
                    self.freed.notify_one();
                    self.pools.notify_one();
                }
                Event::Init => writer.apply_watcher_event(&event),
                Event::InitDone => {
                    writer.apply_watcher_event(&event);
                    self.provider.zones.agents_listed();
                    self.freed.notify_one();
                    self.pools.notify_one();
                }
            }
        }
    }

    fn request_users(&self, name: &KubeRef, taken_by: Option<KubeRef>) {
        let leaving = self.provider.leaving.waiting_for(name);
        for machine in [taken_by, leaving].into_iter().flatten() {
            self.request(&machine);
        }
    }

    /// Requests AgentMachines without an Agent when Agents changed.
    pub async fn waiting(self: Arc<Self>) {
        loop {
            let taken = async {
                self.taken.notified().await;
                sleep(REASONS_INTERVAL).await;
            };
            tokio::select! {
                () = self.freed.notified() => {}
                () = self.provider.quotas.reordered() => {}
                () = taken => {}
            }
            let many = self.request_those(|one| agent_ref(one.status.as_ref()).is_none());
            let many = u32::try_from(many).unwrap_or(u32::MAX);
            sleep(WAITING_INTERVAL.max(PER_MACHINE.saturating_mul(many))).await;
        }
    }

    /// Requests those that wait when one that held them up waits no more, without a reconcile that shows it.
    pub async fn queue(self: Arc<Self>) {
        let waits = |machine: &KubeRef| {
            let found = self.own.get(&object_ref(machine));
            found.is_some_and(|found| {
                found.metadata.deletion_timestamp.is_none() && agent_ref(found.status.as_ref()).is_none()
            }) && !self.provider.context.turns.is_of_others(&machine.namespace)
        };
        loop {
            sleep(QUEUE_INTERVAL).await;
            if self.provider.claims.queue.prune(waits, Instant::now()) {
                self.provider.quotas.reorder();
            }
        }
    }

    /// Requests all AgentMachineTemplates some time after Agents changed: a pool that boots changes all the time.
    pub async fn templates(self: Arc<Self>) {
        loop {
            self.pools.notified().await;
            self.provider.quotas.recount();
            sleep(POOLS_INTERVAL).await;
            for template in self.templates.state() {
                // Sending fails only when the controller has ended.
                let _ = self.template_requests.send(ObjectRef::from_obj(&*template));
            }
        }
    }

    /// Handles Machines.
    pub async fn machines(self: Arc<Self>, mut writer: Writer<DynamicObject>) {
        let kind = &self.provider.kinds.machine;
        let stream = watch::dynamic(&self.provider.context, kind, watcher::Config::default());
        let mut stream = pin!(stream);
        while let Some(mut event) = stream.next().await {
            strip(&mut event);
            writer.apply_watcher_event(&event);
            if let Event::Apply(machine) | Event::Delete(machine) = &event
                && let Some(name) = Machine(machine).agent_machine()
            {
                self.request(&name);
            }
        }
    }

    /// Handles Clusters: one that is paused no more concerns all its AgentMachines. Its status, which counts them, does not.
    pub async fn clusters(self: Arc<Self>, mut writer: Writer<DynamicObject>) {
        let kind = &self.provider.kinds.cluster;
        let stream = watch::dynamic(&self.provider.context, kind, watcher::Config::default());
        let mut stream = pin!(stream);
        while let Some(mut event) = stream.next().await {
            strip(&mut event);
            let before = match &event {
                Event::Apply(cluster) => find(&self.provider.clusters, kind, &kube_ref(cluster)),
                _ => None,
            };
            writer.apply_watcher_event(&event);
            if let Event::Apply(cluster) = &event
                && before.is_none_or(|before| !is_asked_for_the_same(&before, cluster))
            {
                let (namespace, name) = (cluster.namespace(), cluster.name_any());
                self.request_those(|one| {
                    let of = one.labels().get(label::CAPI_CLUSTER_NAME);
                    one.namespace() == namespace && of.is_none_or(|of| *of == name)
                });
                self.pools.notify_one();
            }
        }
    }

    /// Handles AgentClusters: AgentMachines may wait for the ClusterDeployment of one.
    pub async fn agent_clusters(self: Arc<Self>, mut writer: Writer<AgentCluster>) {
        let mut stream = pin!(self.all(&self.provider.context, &writer));
        while let Some(event) = stream.next().await {
            writer.apply_watcher_event(&event);
            if let Event::Apply(agent_cluster) = &event {
                let namespace = agent_cluster.namespace();
                self.request_those(|one| {
                    one.namespace() == namespace && agent_ref(one.status.as_ref()).is_none()
                });
                self.pools.notify_one();
            }
        }
    }

    /// Handles InfraEnvs: AgentMachines may wait for one that gives its hosts to another namespace.
    pub async fn infra_envs(self: Arc<Self>, mut writer: Writer<PartialObjectMeta<InfraEnv>>) {
        if self.provider.context.only_pool().is_some() {
            // They may not be read, and give nothing: all Agents of the namespace may be taken.
            for event in [Event::Init, Event::InitDone] {
                writer.apply_watcher_event(&event);
            }
            self.provider.zones.infra_envs_listed();
            return std::future::pending().await;
        }
        let config = watcher::Config::default();
        let mut stream = pin!(watch::metadata_events(&self.provider.context, config));
        while let Some(event) = stream.next().await {
            let given = |infra_env: &PartialObjectMeta<InfraEnv>| {
                infra_env
                    .annotations()
                    .get(annotation::INFRA_ENV_OPEN_TO)
                    .cloned()
            };
            let is_news = match &event {
                Event::Apply(infra_env) => {
                    let before = self.provider.infra_envs.get(&ObjectRef::from_obj(infra_env));
                    before.and_then(|before| given(&before)) != given(infra_env)
                }
                Event::InitDone => true,
                Event::Delete(_) | Event::Init | Event::InitApply(_) => false,
            };
            writer.apply_watcher_event(&event);
            if matches!(event, Event::InitDone) {
                self.provider.zones.infra_envs_listed();
            }
            if is_news {
                self.provider.zones.infra_envs_changed();
                self.freed.notify_one();
                self.pools.notify_one();
            }
        }
    }

    /// Handles bootstrap Secrets that were read once.
    pub async fn secrets(self: Arc<Self>, mut writer: Writer<PartialObjectMeta<Secret>>) {
        let mut stream = pin!(watch::metadata_events(&self.provider.context, secrets::watched()));
        while let Some(event) = stream.next().await {
            writer.apply_watcher_event(&event);
            let (Event::Apply(secret) | Event::Delete(secret)) = &event else {
                continue;
            };
            if matches!(event, Event::Delete(_)) {
                self.provider.prepared.forget(&kube_ref(secret));
            }
            let (namespace, name) = (secret.namespace(), secret.name_any());
            let users = self.provider.machines.state_filter(|machine| {
                machine.namespace() == namespace && Machine(machine).bootstrap_secret() == Some(&name)
            });
            for machine in users
                .iter()
                .filter_map(|machine| Machine(machine).agent_machine())
            {
                self.request(&machine);
            }
        }
    }
}

/// True if both versions of a Cluster have the same spec and annotations.
fn is_asked_for_the_same(before: &DynamicObject, after: &DynamicObject) -> bool {
    before.annotations() == after.annotations() && before.data.get("spec") == after.data.get("spec")
}

/// Drops the parts that are large and not read.
fn strip(event: &mut Event<DynamicObject>) {
    if let Event::Apply(object) | Event::InitApply(object) = event {
        object.metadata.managed_fields = None;
    }
}
