//! Reconciles AgentMachines: each takes an Agent for a Machine of Cluster API, and gives it back. Source:
//! docs/protocol/capi-agent-provider.md#2, §4.

mod architecture;
mod binding;
pub mod claim;
mod delete;
pub mod image;
pub mod prerequisites;
mod provisioned;
mod reconcile;
mod reinstall;
mod reservation;
mod status;
mod triggers;
mod waits;

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use kube::ResourceExt;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::runtime::reflector::{self, Store, store::Writer};
use muster_controller::drive::drive;
use muster_controller::references::cluster_api_owner;
use muster_controller::{finalizers, watch};
use muster_core::record::KubeRef;
use muster_resources::names::{finalizer, label};
use muster_resources::{AgentMachine, AgentMachineTemplate, InfraEnv};
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::agent_machine_template;
use super::agent_quota;
use super::agents::AgentView;
use super::claims::Claims;
use super::kinds::Kinds;
use super::memory::Memory;
use super::objects::{Cluster, find, is_paused};
use super::prepared::Prepared;
use super::provider::{Leaving, Provider};
use super::quotas::Quotas;
use super::remediation::Waiting;
use super::zones::Zones;
use crate::context::Context;
use triggers::Triggers;
pub use waits::wait_of;

/// AgentMachines reconciled at the same time: a whole NodePool may be scaled up at once.
const WORKERS: u16 = 16;

/// Time for which the namespace of a HostedCluster's Agents and the architecture of a NodePool are remembered.
const NAMESPACE_LIFETIME: Duration = Duration::from_secs(60);

/// Least time between two statuses that differ only in the reasons of Agents: the reasons of a thousand hosts change all the time.
const REASONS_INTERVAL: Duration = Duration::from_secs(5);

/// Caches that another controller reads, too, and what it waits for.
pub struct Shared {
    pub agents: Writer<AgentView>,
    pub infra_envs: Writer<PartialObjectMeta<InfraEnv>>,
    pub zones: Arc<Zones>,
    /// Remediations that wait for answers of Agents, which this controller watches.
    pub remediations: Arc<Waiting>,
    /// AgentMachineTemplates are reconciled.
    pub has_templates: bool,
}

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, kinds: Kinds, shared: Shared, stop: CancellationToken) {
    let Shared {
        agents: agent_writer,
        infra_envs: infra_env_writer,
        zones,
        remediations,
        has_templates,
    } = shared;
    let machine_writer = Writer::new(kinds.machine.clone());
    let cluster_writer = Writer::new(kinds.cluster.clone());
    let machine_clusters = cluster_writer.as_reader();
    let (agent_clusters, agent_cluster_writer) = reflector::store();
    let (secrets, secret_writer) = reflector::store();
    let (requests, mut requested) = unbounded_channel();
    let (template_requests, requested_templates) = unbounded_channel();
    let controller = watch::controller::<AgentMachine>(&context);
    look_at(
        controller.store(),
        (machine_clusters.clone(), kinds.cluster.clone()),
        &context,
    );
    let of_turns = context.turns.changes(controller.store());
    let templates = watch::controller_without_own_writes::<AgentMachineTemplate>(&context);
    let provider = Arc::new(Provider {
        context: context.clone(),
        kinds,
        agents: agent_writer.as_reader(),
        agent_machines: controller.store(),
        machines: machine_writer.as_reader(),
        clusters: machine_clusters,
        agent_clusters,
        infra_envs: infra_env_writer.as_reader(),
        zones,
        claims: Claims::default(),
        quotas: Quotas::default(),
        prepared: Prepared::new(secrets),
        leaving: Leaving::default(),
        remediations,
        agent_namespaces: Memory::new(NAMESPACE_LIFETIME),
        architectures: Memory::new(NAMESPACE_LIFETIME),
        explained: Memory::new(REASONS_INTERVAL),
    });
    let triggers = Arc::new(Triggers {
        provider: provider.clone(),
        own: controller.store(),
        requests,
        templates: templates.store(),
        template_requests,
        freed: Notify::new(),
        taken: Notify::new(),
        pools: Notify::new(),
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(triggers.clone().agents(agent_writer));
    tasks.spawn(triggers.clone().machines(machine_writer));
    tasks.spawn(triggers.clone().clusters(cluster_writer));
    tasks.spawn(triggers.clone().agent_clusters(agent_cluster_writer));
    tasks.spawn(triggers.clone().infra_envs(infra_env_writer));
    tasks.spawn(triggers.clone().secrets(secret_writer));
    tasks.spawn(triggers.clone().templates());
    tasks.spawn(triggers.clone().queue());
    tasks.spawn(triggers.waiting());
    tasks.spawn(agent_quota::run(provider.clone()));
    let all_listed = async {
        // Each wait fails only when its task ended, which ends the loop below.
        let _ = provider.agents.wait_until_ready().await;
        let _ = provider.machines.wait_until_ready().await;
        let _ = provider.clusters.wait_until_ready().await;
        let _ = provider.agent_clusters.wait_until_ready().await;
        let _ = provider.infra_envs.wait_until_ready().await;
        provider.quotas.known().await;
    };
    let is_ready = tokio::select! {
        () = all_listed => true,
        () = stop.cancelled() => false,
    };
    if is_ready {
        if has_templates {
            tasks.spawn(agent_machine_template::run(
                provider.clone(),
                templates,
                requested_templates,
            ));
        }
        let controller = controller
            .reconcile_on(stream::poll_fn(move |context| requested.poll_recv(context)))
            .reconcile_on(of_turns);
        let work = drive(
            "agent_machine",
            WORKERS,
            controller,
            context,
            stop,
            move |object, _| {
                let provider = provider.clone();
                async move {
                    let turns = provider.context.turns.clone();
                    let namespace = object.namespace().unwrap_or_default();
                    let work = Box::pin(reconcile::reconcile(object, provider));
                    turns.within(&namespace, work).await
                }
            },
        );
        tokio::select! {
            () = work => {}
            // None of the tasks ends by itself.
            Some(ended) = tasks.join_next() => {
                tracing::error!(?ended, "a part of the controller of AgentMachines ended");
            }
        }
    }
    // Work that is interrupted is found again by the next start.
    tasks.shutdown().await;
}

/// Shows AgentMachines to what finds out who serves their namespaces. `clusters`: the store of Clusters, and their kind.
fn look_at(
    own: Store<AgentMachine>,
    (clusters, kind): (Store<DynamicObject>, ApiResource),
    context: &Arc<Context>,
) {
    // What holds the context holds this.
    let provider = Arc::downgrade(context);
    let rests = move |object: &AgentMachine| {
        let name = object.labels().get(label::CAPI_CLUSTER_NAME);
        let name = name.map(|name| KubeRef::new(object.namespace().unwrap_or_default(), name));
        let cluster = name.and_then(|name| find(&clusters, &kind, &name));
        cluster.is_some_and(|cluster| Cluster(&cluster).is_paused())
    };
    context.turns.look_by(move |seen| {
        let Some(context) = provider.upgrade() else { return };
        for object in own.state() {
            if context.is_ours(&*object) {
                let place = seen.entry(object.namespace().unwrap_or_default()).or_default();
                place.is_undone |= is_undone(&object) && !rests(&object);
            }
        }
    });
}

/// True for an AgentMachine that every provider would have put its finalizer on, unless its Cluster is paused. Source:
/// docs/protocol/capi-agent-provider.md#4.
fn is_undone(object: &AgentMachine) -> bool {
    object.metadata.deletion_timestamp.is_none()
        && cluster_api_owner(object, "Machine").is_some()
        && !is_paused(object)
        && !finalizers::is_moved(object)
        && !finalizers::has(object, finalizer::AGENT_MACHINE)
}
