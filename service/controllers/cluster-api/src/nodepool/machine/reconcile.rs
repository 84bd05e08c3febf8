//! Reconciles one Machine: reads the objects that it refers to, writes its status. Source: Cluster API v1.11,
//! internal/controllers/machine/machine_controller_phases.go.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use kube::ResourceExt;
use kube::core::DynamicObject;
use kube::runtime::controller::Action;
use muster_api::time::now;
use muster_controller::error::Error;
use muster_controller::references::owner_reference;
use muster_controller::retry::{RETRY_INTERVAL, soonest};
use muster_controller::secrets::{self, ReferenceError};
use muster_controller::waits::Until;
use muster_controller::{finalizers, status as statuses};
use muster_resources::cluster_api::names::{CLUSTER_NAME, MACHINE_FINALIZER, PAUSED};
use muster_resources::cluster_api::{Cluster, Machine, MachineAddress, MachineStatus};
use muster_resources::names;
use serde_json::{Value, json};

use super::delete;
use super::in_place::{self, Step};
use super::node::{self, HEALTH_INTERVAL, LOOK_INTERVAL};
use super::status::{self, Facts, Infrastructure, Node, Reason};
use crate::context::Context;
use crate::nodepool::{objects, waits};

/// Time without its Node under an expected name after which all Nodes are searched.
const NAMES_LIMIT: TimeDelta = TimeDelta::seconds(60);

/// Advances a Machine, or its deletion.
pub async fn reconcile(machine: Arc<Machine>, context: Arc<Context>) -> Result<Action, Error> {
    let api = kube::Api::<Machine>::namespaced(context.client.clone(), &namespace(&machine));
    let cluster = cluster(&machine, &context).await?;
    if let Some(why) = pause(&machine, cluster.as_ref()) {
        write(
            &machine,
            &context,
            status::paused(machine.status.as_ref(), &why, now()),
        )
        .await?;
        return Ok(Action::await_change());
    }
    if machine.metadata.deletion_timestamp.is_some() {
        return delete::delete(&machine, cluster.as_ref(), &context).await;
    }
    let machine = match finalizers::set(&api, &machine, MACHINE_FINALIZER).await? {
        Some(newer) => Arc::new(newer),
        None => machine,
    };
    if let Some(cluster) = &cluster
        && joined(&machine, cluster, &context).await?
    {
        // The change of the Machine triggers the next reconcile.
        return Ok(Action::await_change());
    }
    let (updating, again) = match Box::pin(in_place::step(&machine, &context)).await? {
        Step::Changed => return Ok(Action::await_change()),
        Step::None => (None, None),
        Step::Shown(updating, again) => (Some(updating), again),
    };
    let infrastructure = infrastructure(&machine, &context).await?;
    if let Some(provider_id) = &infrastructure.provider_id
        && machine.spec.provider_id.as_ref() != Some(provider_id)
    {
        let patch = json!({"metadata": {"resourceVersion": machine.resource_version()}, "spec": {"providerID": provider_id}});
        let patch = kube::api::Patch::Merge(patch);
        api.patch(
            &machine.name_any(),
            &muster_controller::writes::patch_params(),
            &patch,
        )
        .await?;
        return Ok(Action::await_change());
    }
    let node = node(&machine, &infrastructure, &context).await;
    let facts = Facts {
        bootstrap: bootstrap(&machine, &context).await?,
        infrastructure: infrastructure.state,
        addresses: infrastructure.addresses,
        node,
    };
    let min_ready = TimeDelta::seconds(machine.spec.min_ready_seconds.unwrap_or(0));
    let mut next = status::status(
        machine.status.as_ref(),
        &facts,
        min_ready,
        machine.metadata.generation,
        now(),
    );
    if updating.as_ref().is_some_and(status::Updating::has_failed) && !in_place::has_failed(&machine) {
        // Its condition may be of an earlier attempt, or never have been True: the time of this failure shows whose it is.
        status::forget_update(&mut next);
    }
    status::update(&mut next, updating, now());
    let overdue = write(&machine, &context, next).await?;
    Ok(soonest([next_look(&facts, min_ready), again, overdue]))
}

/// Time after which to check again what no watch shows.
fn next_look(facts: &Facts, min_ready: TimeDelta) -> Option<Duration> {
    let node = match &facts.node {
        Node::NotAwaited => None,
        Node::Absent(_) | Node::Unreachable(_) => Some(LOOK_INTERVAL),
        Node::Found { problems, .. } if !problems.is_empty() => Some(LOOK_INTERVAL),
        Node::Found { .. } => {
            let soon = min_ready.to_std().ok().filter(|wait| !wait.is_zero());
            Some(
                soon.unwrap_or(HEALTH_INTERVAL)
                    .clamp(Duration::from_secs(1), HEALTH_INTERVAL),
            )
        }
    };
    // A missing Secret is watched only when it was read once.
    let secret = facts.bootstrap.is_err().then_some(RETRY_INTERVAL);
    node.into_iter().chain(secret).min()
}

pub(super) fn namespace(machine: &Machine) -> String {
    machine.namespace().unwrap_or_default()
}

/// Conditions that the Machine waits for, in this order.
const AWAITED: [(&str, &str); 5] = [
    ("Deleting", "False"),
    ("Updating", "False"),
    ("BootstrapConfigReady", "True"),
    ("InfrastructureReady", "True"),
    ("NodeHealthy", "True"),
];

/// Writes the status. Returns the time after which to check whether the wait that it shows is overdue.
pub(super) async fn write(
    machine: &Machine,
    context: &Context,
    mut next: MachineStatus,
) -> Result<Option<Duration>, Error> {
    let mut wait = waits::wait::<Reason>(&next.conditions, &AWAITED);
    if let Some((wait, _)) = &mut wait
        && wait.reason == <&str>::from(Reason::DrainingNode)
        && let Some(end) = delete::drain_end(machine, &next)
    {
        wait.until = Some(Until::GivenUp(
            end,
            "the pods that are left are not waited for any more then",
        ));
    }
    let overdue = waits::publish(context, machine, &mut next.conditions, wait);
    statuses::write(context, machine, machine.status.as_ref(), &next).await?;
    Ok(overdue)
}

async fn cluster(machine: &Machine, context: &Context) -> Result<Option<Cluster>, Error> {
    let api = kube::Api::<Cluster>::namespaced(context.client.clone(), &namespace(machine));
    Ok(api.get_opt(&machine.spec.cluster_name).await?)
}

/// The reason why a Machine is paused.
fn pause(machine: &Machine, cluster: Option<&Cluster>) -> Option<String> {
    if machine.annotations().contains_key(PAUSED) {
        return Some(format!("it has the annotation {PAUSED}"));
    }
    let cluster = cluster.filter(|cluster| cluster.spec.paused == Some(true))?;
    Some(format!(
        "spec.paused of the Cluster {} is true",
        cluster.name_any()
    ))
}

/// Labels the Machine with its Cluster, which becomes its owner if it has none. True when something was written.
async fn joined(machine: &Machine, cluster: &Cluster, context: &Context) -> Result<bool, Error> {
    let name = &machine.spec.cluster_name;
    let is_labelled = machine.labels().get(CLUSTER_NAME) == Some(name);
    let is_owned = !machine.owner_references().is_empty();
    if is_labelled && is_owned {
        return Ok(false);
    }
    let mut metadata = json!({"labels": {CLUSTER_NAME: name}});
    if !is_owned {
        metadata["ownerReferences"] = json!([owner_reference(cluster)]);
    }
    objects::set_metadata(&context.client, machine, metadata).await?;
    Ok(true)
}

/// The fields of an infrastructure object that concern its Machine.
struct Found {
    state: Infrastructure,
    provider_id: Option<String>,
    addresses: Vec<MachineAddress>,
}

async fn infrastructure(machine: &Machine, context: &Context) -> Result<Found, Error> {
    let reference = &machine.spec.infrastructure_ref;
    let what = format!("{} {}", reference.kind, reference.name);
    let status = machine.status.as_ref();
    let was_there = status.and_then(|status| status.initialization.as_ref()?.infrastructure_provisioned);
    let found = objects::referred(&context.client, &namespace(machine), reference).await?;
    let Some(object) = found else {
        let why = match was_there {
            Some(true) => format!("the {what} is gone: delete this Machine, so that another takes its place"),
            _ => format!("there is no {what} yet"),
        };
        return Ok(Found {
            state: Infrastructure::Absent(why),
            provider_id: None,
            addresses: Vec::new(),
        });
    };
    let api = objects::api_of(&context.client, &namespace(machine), reference);
    objects::adopt(&api, &object, machine, &machine.spec.cluster_name).await?;
    Ok(read(&what, &object))
}

fn read(what: &str, object: &DynamicObject) -> Found {
    let status = &object.data["status"];
    let is_ready = status["ready"] == true || status["initialization"]["provisioned"] == true;
    let provider_id = object.data["spec"]["providerID"].as_str().map(str::to_owned);
    let state = match (&provider_id, is_ready) {
        (Some(_), true) => Infrastructure::Provisioned,
        _ => Infrastructure::Waiting(waiting(what, &status["conditions"])),
    };
    Found {
        state,
        // The id can change until the host is installed.
        provider_id: provider_id.filter(|id| is_ready && !id.is_empty()),
        addresses: serde_json::from_value(status["addresses"].clone()).unwrap_or_default(),
    }
}

/// The waits of an infrastructure object: the messages of its conditions that are not True.
fn waiting(what: &str, conditions: &Value) -> String {
    let open = conditions.as_array().into_iter().flatten();
    let open = open.filter(|condition| condition["status"] != "True" && condition["type"] != "Ready");
    let open: Vec<String> = open
        .map(|condition| {
            let text = |name: &str| condition[name].as_str().unwrap_or_default();
            match text("message") {
                "" => format!("{} ({})", text("type"), text("reason")),
                message => format!("{} ({}): {message}", text("type"), text("reason")),
            }
        })
        .collect();
    if open.is_empty() {
        return format!("the {what} is not ready yet");
    }
    format!("the {what} waits for {}", open.join("; "))
}

/// Checks the bootstrap data; `Err`: what is missing.
async fn bootstrap(machine: &Machine, context: &Context) -> Result<Result<(), String>, Error> {
    let Some(name) = machine.spec.bootstrap.data_secret_name.as_deref() else {
        let why = "spec.bootstrap.dataSecretName names no Secret; nobody makes one here, so name one with the key value";
        return Ok(Err(why.into()));
    };
    let found =
        secrets::read_secret(&context.client, &namespace(machine), name, names::key::CAPI_VALUE).await;
    match found {
        Ok(_) => Ok(Ok(())),
        Err(ReferenceError::Api { source, .. }) => Err((*source).into()),
        Err(error) => Ok(Err(format!("spec.bootstrap.dataSecretName: {error}"))),
    }
}

async fn node(machine: &Machine, infrastructure: &Found, context: &Context) -> Node {
    let status = machine.status.as_ref();
    let was_provisioned =
        status.and_then(|status| status.initialization.as_ref()?.infrastructure_provisioned);
    if infrastructure.state != Infrastructure::Provisioned && was_provisioned != Some(true) {
        return Node::NotAwaited;
    }
    let known = status.and_then(|status| status.node_ref.as_ref());
    let mut names: Vec<String> = known.map(|node| node.name.clone()).into_iter().collect();
    let hosts = infrastructure.addresses.iter().filter(|address| {
        matches!(address.type_.as_str(), "InternalDNS" | "Hostname") && !names.contains(&address.address)
    });
    let hosts: Vec<String> = hosts.map(|address| address.address.clone()).collect();
    names.extend(hosts);
    let ready = status.into_iter().flat_map(|status| &status.conditions);
    let since = ready
        .filter(|condition| condition.type_ == "InfrastructureReady" && condition.status == "True")
        .map(|condition| condition.last_transition_time.0.as_second())
        .next();
    let is_long = since.is_some_and(|since| since + NAMES_LIMIT.num_seconds() <= now().timestamp());
    node::find(&context.workloads, machine, &names, is_long || names.is_empty()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_says_what_its_infrastructure_waits_for() {
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "x/v1beta1", "kind": "AgentMachine", "metadata": {"name": "m"},
            "spec": {"providerID": "agent://1"},
            "status": {"conditions": [
                {"type": "Ready", "status": "False", "reason": "IssuesReported"},
                {"type": "AgentReserved", "status": "False", "reason": "NoSuitableAgents", "message": "2 Agents: not approved"},
                {"type": "Installed", "status": "True", "reason": "x"},
            ]},
        }))
        .unwrap();
        let found = read("AgentMachine m", &object);
        assert_eq!(
            found.state,
            Infrastructure::Waiting(
                "the AgentMachine m waits for AgentReserved (NoSuitableAgents): 2 Agents: not approved"
                    .into()
            )
        );
        assert_eq!(found.provider_id, None);

        let mut object = object;
        object.data["status"] =
            json!({"ready": true, "addresses": [{"type": "InternalDNS", "address": "h"}]});
        let found = read("AgentMachine m", &object);
        assert_eq!(found.state, Infrastructure::Provisioned);
        assert_eq!(found.provider_id.as_deref(), Some("agent://1"));
        assert_eq!(found.addresses[0].address, "h");
    }
}
