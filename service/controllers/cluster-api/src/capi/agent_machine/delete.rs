//! Gives the Agent of an AgentMachine back when its Machine is deleted. Source: docs/protocol/capi-agent-provider.md#4.
//!
//! Cluster API drains the node and then waits for the provider's hook; the hook is removed when the host has left the cluster. Machines of a
//! control plane have no such hook: their control-plane provider removes the member of etcd behind a hook of its own, which it removes only after
//! all others, and needs the node until then. Cluster API deletes the AgentMachine after that, which is the signal for these.

use kube::ResourceExt;
use kube::api::Patch;
use kube::runtime::controller::Action;
use muster_api::time::now;
use muster_controller::error::{Error, unless_absent};
use muster_controller::finalizers;
use muster_controller::references::{cluster_api_owner, kube_ref};
use muster_controller::retry::soonest;
use muster_controller::status::write;
use muster_controller::writes::patch_params;
use muster_core::record::KubeRef;
use muster_resources::AgentMachine;
use muster_resources::names::{annotation, finalizer};
use serde_json::json;

use super::binding::{self, give_back, give_back_failed};
use super::reconcile::{agent_ref, api, machines};
use super::reservation::Reserved;
use super::status::{self, Reason, Type};
use super::waits;
use crate::capi::agents::{self, AgentView};
use crate::capi::objects::{Machine, adopted};
use crate::capi::provider::Provider;

/// States of a host that has left its cluster, or needs a user's help to leave it.
const UNBOUND: [&str; 7] = [
    "discovering-unbound",
    "known-unbound",
    "disconnected-unbound",
    "insufficient-unbound",
    "disabled-unbound",
    "unbinding-pending-user-action",
    "error",
];

/// Reconciles an AgentMachine without a Machine: it waits for one, or ends.
pub async fn without_machine(object: &AgentMachine, provider: &Provider) -> Result<Action, Error> {
    if object.metadata.deletion_timestamp.is_none() {
        // The finalizer makes its deletion visible.
        let newer = adopted(&api(object, provider), object, finalizer::AGENT_MACHINE).await?;
        let object = newer.as_ref().unwrap_or(object);
        let why = match cluster_api_owner(object, "Machine") {
            Some(owner) => format!("Waits for the Machine {} that owns it", owner.name),
            None => "Waits for the Machine that owns it to be named in its ownerReferences".into(),
        };
        let found = status::Found {
            reserved: Reserved::NotYet(why),
            agent: None,
            has_started: false,
            reinstall: None,
            generation: object.metadata.generation,
        };
        let before = object.status.as_ref();
        // A reservation that was made before stays.
        if agent_ref(before).is_none() {
            let mut next = status::status(before, &found, now());
            let overdue = waits::set(object, &mut next, provider);
            status::summarize(&mut next, now());
            write(&provider.context, object, before, &next).await?;
            return Ok(soonest([overdue]));
        }
        return Ok(Action::await_change());
    }
    if let Some(agent) = agent(object, provider).await? {
        // The Agent is given back without waiting until it is unbound.
        give_back(&provider.context.client, &agent).await?;
        forget(&agent.candidate.host, provider);
    }
    end(object, provider).await
}

/// Releases the AgentMachine and its Machine, and leaves the Agent as it is: they continue to exist in another management cluster.
pub async fn let_go(
    object: &AgentMachine,
    machine: Machine<'_>,
    provider: &Provider,
) -> Result<Action, Error> {
    remove_hook(machine, provider).await?;
    end(object, provider).await
}

/// Handles an AgentMachine that `clusterctl move` deletes here: its Agent stays taken, and its host a node.
pub async fn moved(object: &AgentMachine, provider: &Provider) -> Result<Action, Error> {
    if object.metadata.deletion_timestamp.is_some() {
        return end(object, provider).await;
    }
    waits::end(object, provider);
    Ok(Action::await_change())
}

/// Waits for the Machine to be deleted, or its node to be drained.
pub async fn await_machine(
    object: &AgentMachine,
    machine: Machine<'_>,
    provider: &Provider,
) -> Result<Action, Error> {
    if !finalizers::has(object, finalizer::AGENT_MACHINE) {
        return Ok(Action::await_change());
    }
    let name = machine.0.name_any();
    let hooks = machine.hooks_of_others();
    let message = match machine.is_deleting() {
        true if hooks.is_empty() => format!("Waits for Cluster API to drain the node of the Machine {name}"),
        true => format!(
            "Waits for Cluster API to drain the node of the Machine {name}, and until these annotations are removed from it: {}",
            hooks.join(", ")
        ),
        false => {
            format!("The Machine {name} is not being deleted; delete it, the AgentMachine goes with it")
        }
    };
    let before = object.status.as_ref();
    let notice = (Type::Deleting, Reason::WaitingForMachine);
    let mut next = status::with_notice(before, notice, &message, object.metadata.generation, now());
    let overdue = waits::set(object, &mut next, provider);
    write(&provider.context, object, before, &next).await?;
    Ok(soonest([overdue]))
}

/// Gives the Agent back, and lets the Machine end when the host has left the cluster.
pub async fn deprovision(
    object: &AgentMachine,
    machine: Machine<'_>,
    provider: &Provider,
) -> Result<Action, Error> {
    if let Some(agent) = agent(object, provider).await? {
        let name = agent.candidate.host.clone();
        provider.leaving.add(name.clone(), kube_ref(object));
        let is_taken = agent.candidate.taken_by.as_ref() == Some(&kube_ref(object));
        let agent = if is_taken {
            tracing::info!(machine = %kube_ref(object), agent = %name, "the Agent is given back");
            let client = &provider.context.client;
            let given_back = match machine.failed_health_check() {
                Some(why) => give_back_failed(client, &agent, &why).await?,
                None => give_back(client, &agent).await?,
            };
            provider.claims.forget(&name);
            given_back
        } else {
            agent
        };
        if !has_left(&agent) {
            return wait(object, &agent, provider).await;
        }
        forget(&name, provider);
    }
    drop_data(object, machine, provider).await?;
    remove_hook(machine, provider).await?;
    end(object, provider).await
}

/// The Agent that was taken, from the API server; `None`: it is gone, or was never taken.
async fn agent(object: &AgentMachine, provider: &Provider) -> Result<Option<AgentView>, Error> {
    let machine = kube_ref(object);
    let taken = agents::taken_for(&provider.agents, &machine);
    let taken = taken.first().map(|agent| agent.candidate.host.clone());
    let name = agent_ref(object.status.as_ref())
        .or_else(|| provider.claims.of(&machine))
        .or(taken);
    let Some(name) = name else {
        return Ok(None);
    };
    let api = binding::api(&provider.context.client, &name);
    unless_absent(api.get(&name.name).await)
}

/// True when the host is in no cluster any more, or in another one by now.
fn has_left(agent: &AgentView) -> bool {
    UNBOUND.contains(&agent.state.as_str()) || agent.candidate.taken_by.is_some()
}

async fn wait(object: &AgentMachine, agent: &AgentView, provider: &Provider) -> Result<Action, Error> {
    let state = if agent.state.is_empty() {
        "not known"
    } else {
        &agent.state
    };
    let message = format!(
        "Waits for the host of the Agent {} to leave the cluster; its state is {state}",
        agent.candidate.host
    );
    let before = object.status.as_ref();
    let notice = (Type::Deleting, Reason::WaitingForAgent);
    let mut next = status::with_notice(before, notice, &message, object.metadata.generation, now());
    let overdue = waits::set(object, &mut next, provider);
    write(&provider.context, object, before, &next).await?;
    Ok(soonest([overdue]))
}

fn forget(agent: &KubeRef, provider: &Provider) {
    provider.claims.forget(agent);
    provider.leaving.remove(agent);
}

/// Deletes the bootstrap data that was made for Agents, when no Agent and no other Machine needs it.
async fn drop_data(object: &AgentMachine, machine: Machine<'_>, provider: &Provider) -> Result<(), Error> {
    let namespace = object.namespace().unwrap_or_default();
    let Some(secret) = machine.bootstrap_secret() else {
        return Ok(());
    };
    let own = machine.0.name_any();
    let needed = provider.machines.find(|other| {
        other.namespace().as_deref() == Some(&namespace)
            && other.name_any() != own
            && Machine(other).bootstrap_secret() == Some(secret)
    });
    if needed.is_some() {
        return Ok(());
    }
    provider
        .prepared
        .drop_unused(&provider.context.client, &namespace, secret)
        .await
}

/// Releases the AgentMachine.
async fn end(object: &AgentMachine, provider: &Provider) -> Result<Action, Error> {
    finalizers::remove(&api(object, provider), object, finalizer::AGENT_MACHINE).await?;
    waits::end(object, provider);
    Ok(Action::await_change())
}

/// Removes the provider's hook, if the Machine has it.
pub async fn remove_hook(machine: Machine<'_>, provider: &Provider) -> Result<(), Error> {
    if !machine.has_hook() {
        return Ok(());
    }
    let annotations = json!({"annotations": {annotation::PRE_TERMINATE_HOOK: null}});
    let patch: Patch<serde_json::Value> = Patch::Merge(json!({"metadata": annotations}));
    let name = kube_ref(machine.0);
    let api = machines(&provider.context.client, provider, &name.namespace);
    unless_absent(api.patch_metadata(&name.name, &patch_params(), &patch).await).map(drop)
}
