//! Reconciles one AgentMachine: takes an Agent for it, and reports to Cluster API when its host is installed. Source:
//! docs/protocol/capi-agent-provider.md#2.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::api::Patch;
use kube::core::DynamicObject;
use kube::runtime::controller::Action;
use kube::{Api, Client, ResourceExt};
use muster_api::time::now;
use muster_controller::error::Error;
use muster_controller::finalizers;
use muster_controller::references::{PROVIDER_ID_PREFIX, cluster_api_owner, kube_ref, provider_id};
use muster_controller::retry::{RETRY_INTERVAL, soonest};
use muster_controller::status::write;
use muster_controller::writes::patch_params;
use muster_core::record::{ImageWish, KubeRef};
use muster_core::rules::placement::{Need, Rest};
use muster_resources::names::{annotation, finalizer};
use muster_resources::{AgentMachine, AgentMachineStatus, ReinstallRequest};
use serde_json::json;

use super::architecture;
use super::binding::{Binding, give_back};
use super::claim;
use super::delete;
use super::image;
use super::prerequisites::{Prerequisites, missing_data, prerequisites};
use super::provisioned::{self, When};
use super::reinstall;
use super::reservation::Reserved;
use super::status::{self, Found, Reason, Type};
use super::waits;
use crate::capi::agents::{self, AgentView};
use crate::capi::bootstrap::Bootstrap;
use crate::capi::node;
use crate::capi::objects::{Cluster, Machine, adopted, find, is_paused};
use crate::capi::provider::Provider;

/// Brings the AgentMachine, its Machine and its Agent in line.
pub async fn reconcile(object: Arc<AgentMachine>, provider: Arc<Provider>) -> Result<Action, Error> {
    let (name, queue) = (kube_ref(&*object), &provider.claims.queue);
    queue.begin(&name, Instant::now());
    let outcome = advance(object, &provider).await;
    if queue.end(&name, outcome.is_ok(), Instant::now()) {
        provider.quotas.reorder();
    }
    outcome
}

async fn advance(object: Arc<AgentMachine>, provider: &Provider) -> Result<Action, Error> {
    if !provider.context.is_ours(&*object) {
        return Ok(Action::await_change());
    }
    if finalizers::is_moved(&*object) {
        return delete::moved(&object, provider).await;
    }
    let is_deleting = object.metadata.deletion_timestamp.is_some();
    let Some(machine) = owner_machine(&object, provider).await? else {
        return delete::without_machine(&object, provider).await;
    };
    let machine = Machine(&machine);
    let cluster = cluster_of(&object, machine, provider);
    if is_paused(&*object) {
        if is_deleting {
            return delete::let_go(&object, machine, provider).await;
        }
        let why = format!("The annotation {} is set", annotation::CAPI_PAUSED);
        return pause(&object, provider, &why).await;
    }
    if let Some(paused) = cluster.as_deref().filter(|cluster| Cluster(cluster).is_paused()) {
        return pause(
            &object,
            provider,
            &format!("The Cluster {} is paused", paused.name_any()),
        )
        .await;
    }
    let is_control_plane = machine.is_control_plane(&*object, cluster.as_deref().map(Cluster));
    if is_control_plane {
        // An earlier release set it.
        delete::remove_hook(machine, provider).await?;
    }
    if is_over(machine, is_deleting, is_control_plane) {
        return delete::deprovision(&object, machine, provider).await;
    }
    if is_deleting {
        return delete::await_machine(&object, machine, provider).await;
    }
    if machine.is_deleting() {
        // The hook is reached when Cluster API has drained the node.
        return Ok(Action::await_change());
    }
    let object = adopted(&api(&object, provider), &object, finalizer::AGENT_MACHINE)
        .await?
        .map_or(object, Arc::new);
    if !is_control_plane {
        add_hook(machine, provider).await?;
    }
    release_strays(&object, provider).await?;
    let is_settled =
        |status: &&AgentMachineStatus| status::is_settled(status) && reinstall::open(&object).is_none();
    if let Some(before) = object.status.as_ref().filter(is_settled) {
        // The status stays as it was when it became ready; only a pause may have left a trace.
        let next = status::without_notice(before, Type::Paused);
        write(&provider.context, &*object, Some(before), &next).await?;
        return match provider.context.only_pool() {
            Some(_) => node::set_provider_id(&object, cluster.as_deref(), provider).await,
            // The service that has the host does, when it joins.
            None => Ok(Action::await_change()),
        };
    }
    if let Some(agent) = did_not_wake(&object, provider) {
        return let_sleep(&object, &agent, provider).await;
    }
    let (found, again) = reserve(&object, machine, cluster.as_deref(), provider).await?;
    let when = provisioned::when(&object, cluster.as_deref(), provider);
    let when = when.unwrap_or_else(|_| When::usual(cluster.as_deref()));
    settle(&object, found, (again, when), provider).await
}

/// True when the Agent is to be given back. `is_deleting`: the AgentMachine is being deleted.
fn is_over(machine: Machine<'_>, is_deleting: bool, is_control_plane: bool) -> bool {
    if is_control_plane {
        // A user may have deleted the AgentMachine before the member of etcd is removed.
        return is_deleting && machine.is_deleting() && machine.hooks_of_others().is_empty();
    }
    // Cluster API deletes the AgentMachine as soon as the hook is removed, perhaps before its finalizer is removed here.
    let is_past_hook = is_deleting && machine.is_deleting() && !machine.has_hook();
    is_past_hook || machine.awaits_hook() && (machine.is_deleting() || is_deleting)
}

/// The Machine that owns the AgentMachine; `None`: it has no owner (yet).
async fn owner_machine(
    object: &AgentMachine,
    provider: &Provider,
) -> Result<Option<Arc<DynamicObject>>, Error> {
    let Some(owner) = cluster_api_owner(object, "Machine") else {
        return Ok(None);
    };
    let name = KubeRef::new(object.namespace().unwrap_or_default(), &owner.name);
    if let Some(found) = find(&provider.machines, &provider.kinds.machine, &name) {
        return Ok(Some(found));
    }
    // The watch may not have shown it yet.
    let api = machines(&provider.context.client, provider, &name.namespace);
    Ok(api.get_opt(&name.name).await?.map(Arc::new))
}

/// The API for Machines of a namespace.
pub(super) fn machines(client: &Client, provider: &Provider, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &provider.kinds.machine)
}

/// The API for AgentMachines in the namespace of `object`.
pub(super) fn api(object: &AgentMachine, provider: &Provider) -> Api<AgentMachine> {
    Api::namespaced(
        provider.context.client.clone(),
        &object.namespace().unwrap_or_default(),
    )
}

fn cluster_of(
    object: &AgentMachine,
    machine: Machine<'_>,
    provider: &Provider,
) -> Option<Arc<DynamicObject>> {
    let name = KubeRef::new(object.namespace().unwrap_or_default(), machine.cluster()?);
    find(&provider.clusters, &provider.kinds.cluster, &name)
}

async fn pause(object: &AgentMachine, provider: &Provider, why: &str) -> Result<Action, Error> {
    let message = format!("Nothing is done while this holds: {why}");
    let before = object.status.as_ref();
    let notice = (Type::Paused, Reason::Paused);
    let next = status::with_notice(before, notice, &message, object.metadata.generation, now());
    write(&provider.context, object, before, &next).await?;
    waits::end(object, provider);
    Ok(Action::await_change())
}

/// Makes Cluster API keep the Machine until its Agent is given back.
async fn add_hook(machine: Machine<'_>, provider: &Provider) -> Result<(), Error> {
    if machine.has_hook() {
        return Ok(());
    }
    let annotations = json!({"annotations": {annotation::PRE_TERMINATE_HOOK: ""}});
    let patch: Patch<serde_json::Value> = Patch::Merge(json!({"metadata": annotations}));
    let name = kube_ref(machine.0);
    let api = machines(&provider.context.client, provider, &name.namespace);
    api.patch_metadata(&name.name, &patch_params(), &patch).await?;
    Ok(())
}

/// Gives back Agents that were taken in addition to the one that counts, e.g. by a replica that lost its lease.
async fn release_strays(object: &AgentMachine, provider: &Provider) -> Result<(), Error> {
    let Some(counts) = agent_ref(object.status.as_ref()) else {
        return Ok(());
    };
    for stray in agents::taken_for(&provider.agents, &kube_ref(object)) {
        if stray.candidate.host != counts {
            tracing::warn!(machine = %kube_ref(object), agent = %stray.candidate.host, "a second Agent was taken; it is given back");
            give_back(&provider.context.client, &stray).await?;
        }
    }
    Ok(())
}

/// The Agent that was taken.
pub(super) fn agent_ref(status: Option<&AgentMachineStatus>) -> Option<KubeRef> {
    let reference = status?.agent_ref.as_ref().filter(|it| !it.name.is_empty())?;
    Some(KubeRef::new(&reference.namespace, &reference.name))
}

/// The reservation, and the Agent after it.
struct Reservation {
    reserved: Reserved,
    agent: Option<AgentView>,
    /// The reason for which a request to install the host again did not go on to the Agent; refused: it never will.
    held: Option<String>,
    refused: Option<String>,
}

impl Reservation {
    fn not_yet(why: impl Into<String>) -> Self {
        Self {
            reserved: Reserved::NotYet(why.into()),
            agent: None,
            held: None,
            refused: None,
        }
    }

    /// The same while a request to install the host again is held for this reason.
    fn holding(self, why: String) -> Self {
        Self {
            held: Some(why),
            ..self
        }
    }
}

/// Takes an Agent unless one is taken, and makes it refer to the bootstrap data. Also returns the time after which to try
/// again.
async fn reserve(
    object: &AgentMachine,
    machine: Machine<'_>,
    cluster: Option<&DynamicObject>,
    provider: &Provider,
) -> Result<(Reservation, Option<Duration>), Error> {
    let taken = agent_ref(object.status.as_ref());
    let wanted = match prerequisites(object, machine, cluster, provider).await? {
        Ok(wanted) => wanted,
        Err(why) => {
            let reservation = match taken {
                // The data that it was taken with is gone by now, e.g. by a roll-out that replaced the bootstrap data.
                Some(name) => kept(name, provider, None).await?.holding(why),
                None => Reservation::not_yet(why),
            };
            return Ok((reservation, None));
        }
    };
    let Prerequisites {
        deployment,
        data,
        namespace,
    } = wanted;
    let data = match data {
        Ok(data) => data,
        Err(no_data) => {
            let why = missing_data(no_data)?;
            let reservation = match taken {
                Some(name) => kept(name, provider, None).await?.holding(why),
                None => Reservation::not_yet(why),
            };
            // Secrets that were never read are not watched.
            return Ok((reservation, Some(RETRY_INTERVAL)));
        }
    };
    let wish = image::wish(object, machine, cluster);
    let is_control_plane = machine.is_control_plane(object, cluster.map(Cluster));
    let binding = Binding::new(kube_ref(object), &deployment, data.as_ref())
        .with_image(wish.clone())
        .of_control_plane(is_control_plane);
    if let Some(name) = taken {
        let bootstrap = data.as_ref().map(|data| &*data.bootstrap);
        let asked = Asked {
            request: reinstall::request(object),
            deployment: &deployment,
            image: &wish,
            bootstrap,
        };
        return Ok((
            kept_or_reinstalled(name, (object, machine), asked, binding, provider).await?,
            None,
        ));
    }
    if let Err(why) = provisioned::when(object, cluster, provider) {
        return Ok((Reservation::not_yet(why), None));
    }
    let wanted = Wanted {
        deployment,
        namespace,
        image: wish,
        bootstrap: data.as_ref().map(|data| &*data.bootstrap),
        binding,
    };
    take_one(object, machine, wanted, provider).await
}

/// The Agent that was taken, if its host was asleep and did not wake.
fn did_not_wake(object: &AgentMachine, provider: &Provider) -> Option<Arc<AgentView>> {
    let status = object.status.as_ref().filter(|status| !status.ready);
    let agent = agents::get(&provider.agents, &agent_ref(status)?)?;
    (agent.candidate.rest == Rest::DidNotWake).then_some(agent)
}

/// Gives an Agent back whose host did not wake, so that another one is taken. It is repeated until the AgentMachine names it no longer.
async fn let_sleep(object: &AgentMachine, agent: &AgentView, provider: &Provider) -> Result<Action, Error> {
    let name = &agent.candidate.host;
    if agent.candidate.taken_by.as_ref() == Some(&kube_ref(object)) {
        tracing::warn!(machine = %kube_ref(object), agent = %name, "an Agent did not wake; it is given back");
        give_back(&provider.context.client, agent).await?;
    }
    provider.claims.forget(name);
    let patch: Patch<serde_json::Value> = Patch::Merge(json!({
        "metadata": {"resourceVersion": object.resource_version()}, "spec": {"providerID": null},
    }));
    let object = api(object, provider)
        .patch(&object.name_any(), &patch_params(), &patch)
        .await?;
    let why = agent.sleep.as_deref().unwrap_or("Its host did not wake");
    let why = format!("The Agent {name} was given back, and another one is taken: {why}");
    let before = object.status.as_ref();
    let next = status::given_back(before, &why, object.metadata.generation, now());
    write(&provider.context, &object, before, &next).await?;
    Ok(Action::requeue(claim::RETRY_INTERVAL))
}

/// A request to install the host again, and what it is for.
struct Asked<'a> {
    request: Option<ReinstallRequest>,
    deployment: &'a KubeRef,
    image: &'a ImageWish,
    bootstrap: Option<&'a Bootstrap>,
}

/// Returns the Agent that was taken before, with its references corrected and the request to install its host again.
async fn kept_or_reinstalled(
    name: KubeRef,
    (object, machine): (&AgentMachine, Machine<'_>),
    asked: Asked<'_>,
    binding: Binding,
    provider: &Provider,
) -> Result<Reservation, Error> {
    let Some(request) = asked.request else {
        return kept(name, provider, Some(&binding)).await;
    };
    let agent = agents::get(&provider.agents, &name);
    if let Some(why) = reinstall::held(&request, machine, agent.as_deref(), asked.deployment) {
        return Ok(kept(name, provider, None).await?.holding(why));
    }
    if !reinstall::has_begun(object, &request) {
        let images = &*provider.context.images;
        if let Err(why) = image::architectures(images, asked.image, asked.bootstrap) {
            let kept = kept(name, provider, None).await?;
            return Ok(Reservation {
                refused: Some(why),
                ..kept
            });
        }
    }
    let binding = binding.with_reinstall(Some(request.requested));
    kept(name, provider, Some(&binding)).await
}

/// What an Agent is taken for.
struct Wanted<'a> {
    deployment: KubeRef,
    namespace: String,
    image: ImageWish,
    bootstrap: Option<&'a Bootstrap>,
    binding: Binding,
}

/// Takes an Agent. Also returns the time after which to try again.
async fn take_one(
    object: &AgentMachine,
    machine: Machine<'_>,
    wanted: Wanted<'_>,
    provider: &Provider,
) -> Result<(Reservation, Option<Duration>), Error> {
    let Wanted {
        deployment,
        namespace,
        image,
        bootstrap,
        binding,
    } = wanted;
    let open = provider.open_to(&object.namespace().unwrap_or_default(), &namespace);
    let wishes = (
        machine.failure_domain(),
        architecture::wanted(object, machine, provider).await?,
    );
    let need = match claim::need(object, &deployment, (namespace, open), wishes) {
        Ok(need) => need,
        Err(why) => return Ok((Reservation::not_yet(why), None)),
    };
    // It is installed: today's images do not matter.
    if let Some(name) = returning(object, &need, provider) {
        return Ok((returned(name, &need, &binding, provider).await?, None));
    }
    let need = match image::architectures(&*provider.context.images, &image, bootstrap) {
        Ok(imaged) => Need { imaged, ..need },
        Err(why) => return Ok((Reservation::not_yet(why), None)),
    };
    let quotas = provider.quotas_of(&need.namespace).in_force;
    let own = claim::line_up(provider, object, need, &quotas);
    let need = &own.need;
    if !quotas.is_empty() && claim::is_early(provider, &need.machine) {
        let why = "Waits until it is known which AgentMachines wait for Agents as well, half a minute at most: quotas order them";
        return Ok((Reservation::not_yet(why), Some(claim::RETRY_INTERVAL)));
    }
    let outcome = claim::claim(provider, &own, &quotas, &binding).await?;
    let back_off = outcome.back_off_ends_in(now());
    let reserved = match &outcome.agent {
        Some(agent) => {
            tracing::info!(machine = %need.machine, agent = %agent.candidate.host, "an Agent was taken");
            Reserved::Taken {
                agent: agent.candidate.host.clone(),
                others: Some(outcome.others),
            }
        }
        None => Reserved::NoneFits {
            others: outcome.others,
            namespace: need.namespace.clone(),
        },
    };
    let reservation = Reservation {
        reserved,
        agent: outcome.agent,
        held: None,
        refused: None,
    };
    Ok((reservation, outcome.again.into_iter().chain(back_off).min()))
}

/// The Agent that `spec.providerID` names, if nothing else shows that it was taken: the AgentMachine came from another management cluster, or
/// from a backup. Neither takes its status along (docs/protocol/capi-day1.md, section 1, "move").
fn returning(object: &AgentMachine, need: &Need, provider: &Provider) -> Option<KubeRef> {
    let id = object.spec.provider_id.as_deref()?;
    let name = id.strip_prefix(PROVIDER_ID_PREFIX)?;
    let is_taken = !agents::taken_for(&provider.agents, &need.machine).is_empty()
        || provider.claims.of(&need.machine).is_some();
    (!is_taken).then(|| KubeRef::new(&need.namespace, name))
}

/// Takes the Agent that `spec.providerID` names, and no other: its host is a node of the cluster.
async fn returned(
    name: KubeRef,
    need: &Need,
    binding: &Binding,
    provider: &Provider,
) -> Result<Reservation, Error> {
    let Some(agent) = agents::get(&provider.agents, &name) else {
        return Ok(Reservation::not_yet(format!(
            "Waits for the Agent {name}, whose host it is by spec.providerID; let the service that has the host use this API server, or delete the Machine if there is no such host any more"
        )));
    };
    let candidate = &agent.candidate;
    if candidate.cluster.as_ref() != Some(&need.cluster) || !need.may_have(candidate) {
        return Ok(Reservation::not_yet(format!(
            "The Agent {name}, whose host it is by spec.providerID, is not bound to the ClusterDeployment {}, or of an InfraEnv that does not give its hosts to this namespace; set spec.clusterDeploymentName of the Agent if its host is a node of that cluster",
            need.cluster
        )));
    }
    kept(name, provider, Some(binding)).await
}

/// Returns the Agent that was taken before, with its references corrected. Nothing is written when they are correct.
async fn kept(name: KubeRef, provider: &Provider, binding: Option<&Binding>) -> Result<Reservation, Error> {
    let agent = agents::get(&provider.agents, &name).map(|agent| (*agent).clone());
    let taken = |agent| Reservation {
        reserved: Reserved::Taken {
            agent: name.clone(),
            others: None,
        },
        agent,
        held: None,
        refused: None,
    };
    let Some(agent) = agent else {
        return Ok(taken(None));
    };
    let Some(binding) = binding else {
        return Ok(taken(Some(agent)));
    };
    if let Some(other) = agent
        .candidate
        .taken_by
        .as_ref()
        .filter(|it| *it != binding.machine())
    {
        // Other namespaces' names are not shown, unless they can be read at the Agent itself.
        let own = &binding.machine().namespace;
        let other = match *own == other.namespace || *own == name.namespace {
            true => format!("the AgentMachine {other}"),
            false => "an AgentMachine of another namespace".to_owned(),
        };
        return Ok(Reservation::not_yet(format!(
            "The Agent {name} was taken for {other} meanwhile; delete the Machine, so that another one is made"
        )));
    }
    let agent = match binding.patch(&agent) {
        None => agent,
        Some(patch) => super::binding::send(&provider.context.client, &name, patch).await?,
    };
    Ok(taken(Some(agent)))
}

/// Writes spec and status. `again`: the time after which to try again.
async fn settle(
    object: &AgentMachine,
    found: Reservation,
    (again, when): (Option<Duration>, When),
    provider: &Provider,
) -> Result<Action, Error> {
    let mut newest = None;
    if let Reserved::Taken { agent, .. } = &found.reserved {
        let id = provider_id(&agent.name);
        if object.spec.provider_id.as_ref() != Some(&id) {
            let patch: Patch<serde_json::Value> = Patch::Merge(json!({
                "metadata": {"resourceVersion": object.resource_version()}, "spec": {"providerID": id},
            }));
            newest = Some(
                api(object, provider)
                    .patch(&object.name_any(), &patch_params(), &patch)
                    .await?,
            );
        }
    }
    let object = newest.as_ref().unwrap_or(object);
    let reinstall = reinstall::request(object).map(|request| {
        let (held, refused) = (found.held.as_deref(), found.refused.as_deref());
        reinstall::shown(&request, found.agent.as_ref(), held, refused)
    });
    let found = Found {
        reserved: found.reserved,
        agent: found.agent.as_ref(),
        reinstall,
        has_started: found.agent.as_ref().is_some_and(|agent| when.is_reached(agent)),
        generation: object.metadata.generation,
    };
    let before = object.status.as_ref();
    let mut next = status::status(before, &found, now());
    let overdue = waits::set(object, &mut next, provider);
    status::summarize(&mut next, now());
    let (name, at) = (kube_ref(object), Instant::now());
    let later = match provider.explained.get(&name, at) {
        Some(((), left)) if status::differs_in_reasons_only(before, &next) => Some(left),
        _ => None,
    };
    if later.is_none() && before != Some(&next) {
        write(&provider.context, object, before, &next).await?;
        provider.explained.set(name, (), at);
    }
    Ok(soonest([again, later, overdue]))
}
