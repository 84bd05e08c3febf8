//! Reconciles one AgentRemediation.

use std::sync::Arc;

use kube::core::DynamicObject;
use kube::runtime::controller::Action as Next;
use kube::runtime::events::EventType;
use kube::{Api, Client, Resource, ResourceExt};
use muster_api::time::{Timestamp, now};
use muster_controller::error::Error;
use muster_controller::events::event;
use muster_controller::finalizers;
use muster_controller::health;
use muster_controller::references::{cluster_api_owner, kube_ref};
use muster_controller::retry::RETRY_INTERVAL;
use muster_controller::status::write;
use muster_resources::AgentRemediation;
use muster_resources::names::{annotation, finalizer};

use super::decision::{Action, Answer, Past, Plan, decide};
use super::host::{self, Found};
use super::machine::leave_to_owner;
use super::status::{self, Change, Phase, Reason};
use super::waiting::Waiting;
use crate::capi::agents::AgentView;
use crate::capi::kinds::Kinds;
use crate::capi::objects::{Cluster, Machine, is_paused};
use crate::context::Context;

/// Action of the Events of a Machine.
const REMEDIATE: &str = "Remediate";

/// Takes the next step for the Machine.
pub async fn reconcile(
    object: Arc<AgentRemediation>,
    context: &Context,
    kinds: &Kinds,
    waiting: &Waiting,
) -> Result<Next, Error> {
    if !context.is_ours(&*object) {
        return Ok(Next::await_change());
    }
    let client = &context.client;
    let name = kube_ref(&*object);
    let api = Api::<AgentRemediation>::namespaced(client.clone(), &name.namespace);
    if finalizers::is_moved(&*object) {
        // It goes on in another management cluster, and so does its request.
        waiting.end(&name);
        if object.metadata.deletion_timestamp.is_some() {
            finalizers::remove(&api, &object, finalizer::AGENT_REMEDIATION).await?;
        }
        return Ok(Next::await_change());
    }
    let machine = machine_of(&object, client, kinds).await?;
    let cluster = match &machine {
        Some(machine) => cluster_of(Machine(machine), client, kinds).await?,
        None => None,
    };
    if object.metadata.deletion_timestamp.is_some() {
        // A Machine that is gone has given its Agent back, and the request with it.
        if let (Some(machine), Some(cluster)) = (&machine, &cluster) {
            withdraw(&object, Machine(machine), Cluster(cluster), client).await?;
        }
        waiting.end(&name);
        finalizers::remove(&api, &object, finalizer::AGENT_REMEDIATION).await?;
        return Ok(Next::await_change());
    }
    let Some(machine) = machine else {
        let why = "Waits for the Machine that owns it".to_owned();
        return settle(&object, context, unchanged(Reason::WaitingForMachine, why)).await;
    };
    let Some(cluster) = cluster else {
        let why = "Waits for the Cluster of the Machine".to_owned();
        settle(&object, context, unchanged(Reason::WaitingForCluster, why)).await?;
        return Ok(Next::requeue(RETRY_INTERVAL));
    };
    let of = (&machine, &cluster);
    go_on(object, of, context, kinds, waiting).await
}

/// Takes the next step for a Machine of a Cluster.
async fn go_on(
    object: Arc<AgentRemediation>,
    (machine, cluster): (&DynamicObject, &DynamicObject),
    context: &Context,
    kinds: &Kinds,
    waiting: &Waiting,
) -> Result<Next, Error> {
    let client = &context.client;
    let name = kube_ref(&*object);
    let api = Api::<AgentRemediation>::namespaced(client.clone(), &name.namespace);
    if let Some(why) = paused(&object, Cluster(cluster)) {
        settle(&object, context, unchanged(Reason::Paused, why)).await?;
        return Ok(Next::requeue(RETRY_INTERVAL));
    }
    let object = finalizers::set(&api, &object, finalizer::AGENT_REMEDIATION)
        .await?
        .map_or(object, Arc::new);
    if Machine(machine).is_deleting() {
        withdraw(&object, Machine(machine), Cluster(cluster), client).await?;
        waiting.end(&name);
        let change = Change {
            phase: Some(Phase::Deleting),
            ..unchanged(Reason::MachineDeleted, "The Machine is being deleted".to_owned())
        };
        return settle(&object, context, change).await;
    }
    if status::phase(object.status.as_ref()) == Some(Phase::Deleting) {
        // The owner has the Machine from then on.
        return Ok(Next::await_change());
    }
    let plan = match Plan::of(&object.spec) {
        Ok(plan) => plan,
        Err(why) => {
            let change = Change {
                phase: Some(Phase::Failed),
                ..unchanged(Reason::InvalidSpec, why)
            };
            return settle(&object, context, change).await;
        }
    };
    let found = host::find(client, Machine(machine), Cluster(cluster)).await?;
    if let Found::Later(why) = &found {
        let change = unchanged(Reason::WaitingForCluster, why.clone());
        settle(&object, context, change).await?;
        return Ok(Next::requeue(RETRY_INTERVAL));
    }
    if let Found::Agent(agent) = &found {
        waiting.set(agent.candidate.host.clone(), name);
    }
    let work = Work {
        object: &object,
        machine,
        context,
        kinds,
    };
    work.step(plan, found).await
}

/// A remediation that is neither paused nor at its end.
struct Work<'a> {
    object: &'a AgentRemediation,
    machine: &'a DynamicObject,
    context: &'a Context,
    kinds: &'a Kinds,
}

impl Work<'_> {
    async fn step(&self, plan: Plan, found: Found) -> Result<Next, Error> {
        let past = status::past(self.object.status.as_ref());
        let (agent, answer) = match found {
            Found::Agent(agent) => {
                let answer = host::answer(&agent, past.last);
                (Some(agent), Ok(answer))
            }
            Found::Nothing(why) | Found::Later(why) => (None, Err(why)),
        };
        let now = now();
        let action = decide(plan, past, answer.as_ref().map_err(String::as_str), now);
        match (action, agent) {
            (Action::Reboot { at }, Some(agent)) => self.reboot(plan, past, &agent, at).await,
            (Action::Request { at }, Some(agent)) => {
                host::request(&self.context.client, &agent, at).await?;
                Ok(after(at + plan.timeout, now))
            }
            (Action::Wait { until }, _) => {
                let change = waits(&answer.unwrap_or(Answer::None), plan, past, until);
                settle(self.object, self.context, change).await?;
                Ok(after(until, now))
            }
            (Action::Replace { why }, _) => self.replace(&why, now).await,
            // A reboot needs an Agent.
            (Action::Reboot { .. } | Action::Request { .. }, None) => Ok(Next::requeue(RETRY_INTERVAL)),
        }
    }

    /// Records the request and sends it, in this order: an interruption in between sends it again with the same time.
    async fn reboot(&self, plan: Plan, past: Past, agent: &AgentView, at: Timestamp) -> Result<Next, Error> {
        let past = Past {
            reboots: past.reboots + 1,
            last: Some(at),
        };
        let until = at + plan.timeout;
        let change = Change {
            reboot: Some(at),
            ..waits(&Answer::None, plan, past, until)
        };
        let note = format!(
            "The host of the Agent {}: {}",
            agent.candidate.host, change.message
        );
        settle(self.object, self.context, change).await?;
        host::request(&self.context.client, agent, at).await?;
        tracing::info!(machine = %kube_ref(self.machine), agent = %agent.candidate.host, "the host of an unhealthy Machine is to reboot");
        self.tell(EventType::Normal, "HostReboot", &note);
        Ok(after(until, now()))
    }

    /// Leaves the Machine to its owner, which replaces it.
    async fn replace(&self, why: &str, now: Timestamp) -> Result<Next, Error> {
        if leave_to_owner(self.machine, why, self.context, self.kinds, now).await? {
            tracing::info!(machine = %kube_ref(self.machine), why, "an unhealthy Machine is left to its owner");
            self.tell(EventType::Warning, "MachineReplaced", why);
        }
        let change = Change {
            phase: Some(Phase::Deleting),
            ..unchanged(
                Reason::Replacing,
                format!("{why}. The owner of the Machine replaces it"),
            )
        };
        settle(self.object, self.context, change).await
    }

    /// Publishes an Event of the Machine.
    fn tell(&self, type_: EventType, reason: &str, note: &str) {
        let machine = self.machine.object_ref(&self.kinds.machine);
        let event = event(type_, REMEDIATE, reason, note);
        self.context.events.publish(event, machine);
    }
}

/// The status of a wait for the end of a reboot, or for the Machine to become healthy.
fn waits(answer: &Answer, plan: Plan, past: Past, until: Timestamp) -> Change {
    let (phase, reason, what) = match answer {
        Answer::Done(by) => (
            Phase::Waiting,
            Reason::WaitingForHealth,
            format!("was carried out by {by}"),
        ),
        Answer::Pending(by) => (
            Phase::Running,
            Reason::Rebooting,
            format!("is carried out by {by}"),
        ),
        _ => (Phase::Running, Reason::Rebooting, "is requested".to_owned()),
    };
    let then = match past.reboots < plan.reboots {
        true => "rebooted again",
        false => "replaced",
    };
    Change {
        phase: Some(phase),
        reboot: None,
        reason,
        message: format!(
            "Reboot {} of {} {what}; a Machine that is not healthy by {} UTC is {then}",
            past.reboots,
            plan.reboots,
            until.format("%Y-%m-%d %H:%M:%S")
        ),
    }
}

fn unchanged(reason: Reason, message: String) -> Change {
    Change {
        phase: None,
        reboot: None,
        reason,
        message,
    }
}

async fn settle(object: &AgentRemediation, context: &Context, change: Change) -> Result<Next, Error> {
    let before = object.status.as_ref();
    let mut next = status::status(before, change, object.metadata.generation, now());
    health::show(&mut next.conditions, &status::SIGNS, now());
    write(context, object, before, &next).await?;
    Ok(Next::await_change())
}

fn after(until: Timestamp, now: Timestamp) -> Next {
    Next::requeue((until - now).to_std().unwrap_or_default())
}

/// The reason why nothing is done.
fn paused(object: &AgentRemediation, cluster: Cluster<'_>) -> Option<String> {
    let what = match (is_paused(object), cluster.is_paused()) {
        (true, _) => format!("the annotation {} is set", annotation::CAPI_PAUSED),
        (false, true) => format!("the Cluster {} is paused", cluster.0.name_any()),
        (false, false) => return None,
    };
    Some(format!("Nothing is done while {what}"))
}

/// Withdraws a request that was not carried out.
async fn withdraw(
    object: &AgentRemediation,
    machine: Machine<'_>,
    cluster: Cluster<'_>,
    client: &Client,
) -> Result<(), Error> {
    let last = status::past(object.status.as_ref()).last;
    if last.is_none() {
        return Ok(());
    }
    match host::find(client, machine, cluster).await? {
        Found::Agent(agent) => host::withdraw(client, &agent, last).await,
        Found::Nothing(_) | Found::Later(_) => Ok(()),
    }
}

/// The Machine that owns it; `None`: it is gone, whatever has its name.
async fn machine_of(
    object: &AgentRemediation,
    client: &Client,
    kinds: &Kinds,
) -> Result<Option<DynamicObject>, Error> {
    let Some(owner) = cluster_api_owner(object, "Machine") else {
        return Ok(None);
    };
    let namespace = object.namespace().unwrap_or_default();
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &kinds.machine);
    let found = api.get_opt(&owner.name).await?;
    Ok(found.filter(|found| found.uid().as_ref() == Some(&owner.uid)))
}

async fn cluster_of(
    machine: Machine<'_>,
    client: &Client,
    kinds: &Kinds,
) -> Result<Option<DynamicObject>, Error> {
    let Some(name) = machine.cluster() else {
        return Ok(None);
    };
    let namespace = machine.0.namespace().unwrap_or_default();
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &kinds.cluster);
    Ok(api.get_opt(name).await?)
}
