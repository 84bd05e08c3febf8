//! Deletes a Machine in Cluster API's order: hooks before the drain, drain, hooks before the end, host, Node, finalizer. Source:
//! docs/protocol/capi-agent-provider.md#4; Cluster API v1.11, internal/controllers/machine/machine_controller.go (`reconcileDelete`).
//!
//! Each step shows what it waits for in the condition `Deleting`. A workload cluster that does not respond delays a Machine by
//! [`UNREACHABLE_LIMIT`] at most: its host returns to the pool all the same.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Preconditions};
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use muster_api::time::Timestamp;
use muster_api::time::now;
use muster_controller::conditions::time;
use muster_controller::error::{Error, unless_absent};
use muster_controller::events;
use muster_controller::finalizers;
use muster_controller::retry::{RETRY_INTERVAL, soonest};
use muster_resources::Time;
use muster_resources::cluster_api::names::{
    EXCLUDE_DRAIN, MACHINE_FINALIZER, PRE_DRAIN_HOOK, PRE_TERMINATE_HOOK,
};
use muster_resources::cluster_api::{Cluster, Machine, MachineDeletionTimes, MachineStatus};
use muster_workload::drain::{Drained, drain};

use super::node::{kubeconfig, provider_id_of};
use super::reconcile::{namespace, write};
use super::status::{self, Deleting, Reason};
use crate::context::Context;
use crate::nodepool::{objects, waits};

/// Between two checks of pods that are leaving.
const DRAIN_INTERVAL: Duration = Duration::from_secs(5);

/// Without a drain timeout, the longest wait for a workload cluster that does not respond.
const UNREACHABLE_LIMIT: Duration = Duration::from_secs(600);

/// Time for which deleting a Node is tried. Source: Cluster API, `nodeDeletionTimeoutSeconds`.
const NODE_DELETION_LIMIT: Duration = Duration::from_secs(10);

/// Does the next step, and removes the finalizer after the last.
pub async fn delete(
    machine: &Machine,
    cluster: Option<&Cluster>,
    context: &Context,
) -> Result<Action, Error> {
    if !finalizers::has(machine, MACHINE_FINALIZER) {
        // The Machine waits for finalizers of others.
        return Ok(Action::await_change());
    }
    match next_step(machine, cluster, context).await? {
        Next::Wait(step, again) => {
            let generation = machine.metadata.generation;
            let next = status::deleting(machine.status.as_ref(), &step, generation, now());
            let overdue = write(machine, context, next).await?;
            Ok(soonest([again, overdue]))
        }
        Next::Done => {
            let api = Api::<Machine>::namespaced(context.client.clone(), &namespace(machine));
            finalizers::remove(&api, machine, MACHINE_FINALIZER).await?;
            waits::forget(context, machine);
            Ok(Action::await_change())
        }
    }
}

/// The present step of a deletion.
enum Next {
    /// A wait, with the time after which to check again what no watch shows.
    Wait(Deleting, Option<Duration>),
    Done,
}

fn wait(reason: Reason, message: impl Into<String>, again: Option<Duration>) -> Next {
    let step = Deleting {
        reason,
        message: message.into(),
        times: None,
    };
    Next::Wait(step, again)
}

async fn next_step(machine: &Machine, cluster: Option<&Cluster>, context: &Context) -> Result<Next, Error> {
    let hooks = hooks(machine, PRE_DRAIN_HOOK);
    if !hooks.is_empty() {
        let message = format!("waits until the annotations are removed: {}", hooks.join(", "));
        return Ok(wait(Reason::WaitingForPreDrainHook, message, None));
    }
    // No pod has to be moved within a cluster that is deleted as a whole.
    let is_alone = cluster.is_some_and(|cluster| cluster.metadata.deletion_timestamp.is_none());
    let node = machine
        .status
        .as_ref()
        .and_then(|status| status.node_ref.as_ref());
    let node = node.map(|node| node.name.as_str()).filter(|_| is_alone);
    if let Some(node) = node
        && !is_past_drain(machine)
        && !machine.annotations().contains_key(EXCLUDE_DRAIN)
        && let Some(waiting) = drained(machine, node, context).await?
    {
        return Ok(waiting);
    }
    let hooks = self::hooks(machine, PRE_TERMINATE_HOOK);
    if !hooks.is_empty() {
        let message = format!("waits until the annotations are removed: {}", hooks.join(", "));
        return Ok(wait(Reason::WaitingForPreTerminateHook, message, None));
    }
    let reference = &machine.spec.infrastructure_ref;
    if objects::deleted(&context.client, &namespace(machine), reference).await? {
        let message = format!("waits until the {} {} is gone", reference.kind, reference.name);
        let again = Some(RETRY_INTERVAL);
        return Ok(wait(Reason::WaitingForInfrastructureDeletion, message, again));
    }
    match node {
        Some(node) => node_deleted(machine, node, context).await,
        None => Ok(Next::Done),
    }
}

/// Hooks with this prefix, which other controllers remove.
fn hooks<'a>(machine: &'a Machine, prefix: &str) -> Vec<&'a str> {
    let keys = machine.annotations().keys();
    keys.filter(|key| key.starts_with(prefix))
        .map(String::as_str)
        .collect()
}

/// True if the reason of the condition `Deleting` shows that the drain is over.
fn is_past_drain(machine: &Machine) -> bool {
    let conditions = machine.status.iter().flat_map(|status| &status.conditions);
    conditions
        .filter(|condition| condition.type_ == "Deleting")
        .any(|condition| {
            matches!(
                condition.reason.parse(),
                Ok(Reason::WaitingForPreTerminateHook
                    | Reason::WaitingForInfrastructureDeletion
                    | Reason::DeletingNode)
            )
        })
}

/// Drains the node; `None`: it is drained, or its time is over.
async fn drained(machine: &Machine, node: &str, context: &Context) -> Result<Option<Next>, Error> {
    let times = machine.status.as_ref().and_then(|status| status.deletion.clone());
    let began = times
        .as_ref()
        .and_then(|times| times.node_drain_start_time.clone());
    let began = began.unwrap_or_else(|| time(now()));
    let times = MachineDeletionTimes {
        node_drain_start_time: Some(began.clone()),
        ..times.unwrap_or_default()
    };
    let limit = timeout(machine);
    let (why, limit) = match look(machine, node, context).await {
        Ok(Drained::Yes) => return Ok(None),
        Ok(Drained::Waiting(why)) => (why, limit),
        Err(why) => (why, Some(limit.unwrap_or(UNREACHABLE_LIMIT))),
    };
    if limit.is_some_and(|limit| is_over(&began, limit, now())) {
        let note = format!("the node {node} was not drained in time: {why}");
        let event = events::warning("Drain", "DrainTimedOut", &note);
        context
            .events
            .publish(event, kube::Resource::object_ref(machine, &()));
        return Ok(None);
    }
    let until = match limit {
        Some(limit) => format!("until {}", deadline(&began, limit)),
        None => "without a limit: spec.deletion.nodeDrainTimeoutSeconds (nodeDrainTimeout of the NodePool) would set one".into(),
    };
    let step = Deleting {
        reason: Reason::DrainingNode,
        message: format!(
            "the node {node} is drained since {}, {until}; {why}",
            stamp(&began)
        ),
        times: Some(times),
    };
    Ok(Some(Next::Wait(step, Some(DRAIN_INTERVAL))))
}

/// Drains the node; `Err`: the reason why the cluster cannot be reached.
pub(super) async fn look(machine: &Machine, node: &str, context: &Context) -> Result<Drained, String> {
    let secret = kubeconfig(&namespace(machine), &machine.spec.cluster_name);
    let workload = context
        .workloads
        .of_secret(&secret)
        .await
        .map_err(|error| error.to_string())?;
    let drained = drain(&workload.client, node, |node| is_of(machine, node)).await;
    drained.map_err(|error| format!("the request to the workload cluster failed: {error}"))
}

/// Time at which a drain that began at the status's time is given up; `None`: it has no limit.
pub(super) fn drain_end(machine: &Machine, status: &MachineStatus) -> Option<Timestamp> {
    let began = status.deletion.as_ref()?.node_drain_start_time.as_ref()?;
    let began = Timestamp::from_timestamp(began.0.as_second(), 0)?;
    Some(began + timeout(machine)?)
}

/// The limit of a drain; `None`: it has no limit.
pub(super) fn timeout(machine: &Machine) -> Option<Duration> {
    let seconds = machine.spec.deletion.as_ref()?.node_drain_timeout_seconds?;
    u64::try_from(seconds)
        .ok()
        .filter(|seconds| *seconds > 0)
        .map(Duration::from_secs)
}

async fn node_deleted(machine: &Machine, node: &str, context: &Context) -> Result<Next, Error> {
    let secret = kubeconfig(&namespace(machine), &machine.spec.cluster_name);
    let outcome = match context.workloads.of_secret(&secret).await {
        Err(error) => Err(error.to_string()),
        Ok(workload) => {
            let api = Api::<Node>::all(workload.client.clone());
            let deleted = own_node_deleted(&api, node, machine).await;
            deleted.map_err(|error| error.to_string())
        }
    };
    let Err(why) = outcome else {
        return Ok(Next::Done);
    };
    let limit = machine.spec.deletion.as_ref();
    let limit = limit.and_then(|deletion| deletion.node_deletion_timeout_seconds);
    let limit = match limit.map(u64::try_from) {
        Some(Ok(0)) => None,
        Some(Ok(seconds)) => Some(Duration::from_secs(seconds)),
        _ => Some(NODE_DELETION_LIMIT),
    };
    let since = deleting_node_since(machine);
    if let (Some(limit), Some(since)) = (limit, &since)
        && is_over(since, limit, now())
    {
        let note = format!("the Node {node} was not deleted in time, delete it there: {why}");
        let event = events::warning("Delete", "NodeNotDeleted", &note);
        context
            .events
            .publish(event, kube::Resource::object_ref(machine, &()));
        return Ok(Next::Done);
    }
    let message = format!("the Node {node} cannot be deleted, which is tried again: {why}");
    Ok(wait(Reason::DeletingNode, message, Some(DRAIN_INTERVAL)))
}

/// True for the Machine's own Node. Another machine may have joined under its name since the last check.
pub(super) fn is_of(machine: &Machine, node: &Node) -> bool {
    provider_id_of(node) == machine.spec.provider_id.as_deref()
}

async fn own_node_deleted(api: &Api<Node>, name: &str, machine: &Machine) -> Result<(), Error> {
    let found = api.get_opt(name).await?;
    let Some(found) = found.filter(|node| is_of(machine, node)) else {
        return Ok(());
    };
    delete_node(api, &found).await
}

/// Deletes this Node, and none that has its name by now.
pub(super) async fn delete_node(api: &Api<Node>, node: &Node) -> Result<(), Error> {
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: node.uid(),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    unless_absent(api.delete(&node.name_any(), &params).await)?;
    Ok(())
}

/// Time at which the deletion began, once deleting the Node was tried: it is tried at least twice.
fn deleting_node_since(machine: &Machine) -> Option<Time> {
    let status = machine.status.as_ref()?;
    let deleting = status
        .conditions
        .iter()
        .find(|condition| condition.type_ == "Deleting")?;
    (deleting.reason == <&str>::from(Reason::DeletingNode)).then(|| deleting.last_transition_time.clone())
}

pub(super) fn is_over(began: &Time, limit: Duration, now: Timestamp) -> bool {
    let limit = i64::try_from(limit.as_secs()).unwrap_or(i64::MAX);
    began.0.as_second().saturating_add(limit) <= now.timestamp()
}

pub(super) fn deadline(began: &Time, limit: Duration) -> String {
    let limit = i64::try_from(limit.as_secs()).unwrap_or(0);
    let at = Timestamp::from_timestamp(began.0.as_second().saturating_add(limit), 0);
    at.map_or_else(String::new, |at| stamp(&time(at)))
}

fn stamp(at: &Time) -> String {
    at.0.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn machine(spec: serde_json::Value, annotations: serde_json::Value) -> Machine {
        let mut machine: Machine = serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"name": "m", "annotations": annotations}, "spec": {},
        }))
        .unwrap();
        machine.spec.deletion = serde_json::from_value(spec).unwrap();
        machine
    }

    #[test]
    fn a_drain_has_the_limit_that_its_machine_says() {
        assert_eq!(timeout(&machine(json!(null), json!({}))), None);
        assert_eq!(
            timeout(&machine(json!({"nodeDrainTimeoutSeconds": 0}), json!({}))),
            None
        );
        let limited = machine(json!({"nodeDrainTimeoutSeconds": 90}), json!({}));
        assert_eq!(timeout(&limited), Some(Duration::from_secs(90)));
        let began = time(Timestamp::from_timestamp(1_795_000_000, 0).unwrap());
        let at = |seconds: i64| Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap();
        assert!(!is_over(&began, Duration::from_secs(90), at(89)));
        assert!(is_over(&began, Duration::from_secs(90), at(90)));
        assert_eq!(deadline(&began, Duration::from_secs(90)), "2026-11-18T11:08:10Z");
    }

    #[test]
    fn hooks_are_annotations_with_their_prefix() {
        let hook = format!("{PRE_TERMINATE_HOOK}/agentmachine");
        let machine = machine(json!(null), json!({"a": "b", hook.clone(): ""}));
        assert_eq!(hooks(&machine, PRE_TERMINATE_HOOK), [hook.as_str()]);
        assert!(hooks(&machine, PRE_DRAIN_HOOK).is_empty());
    }
}
