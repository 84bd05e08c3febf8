//! Deletes the Agent and the node of a BareMetalHost before it is deleted itself, if a user requests that. Source:
//! docs/protocol/kube-controllers.md#7 (`remove-agent-and-node-on-delete`), docs/protocol/metal3.md#2.6.
//!
//! The order: the node is drained; the Agent is deleted, and its own finalizer takes the node out of its cluster; then the host is
//! attached if Metal3 is to deprovision it, and the finalizer of this service is removed. Metal3's stays until it is done.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::Patch;
use kube::runtime::controller::Action;
use kube::{Api, Resource, ResourceExt};
use muster_api::ids::HostId;
use muster_api::time::Timestamp;
use muster_api::time::now;
use muster_controller::error::{Error, unless_absent};
use muster_controller::events::warning;
use muster_controller::finalizers;
use muster_controller::references::{kube_ref, provider_id};
use muster_controller::retry::RETRY_INTERVAL;
use muster_controller::waits::{Until, Wait};
use muster_controller::writes::{delete_params, patch_params};
use muster_core::text;
use muster_resources::metal3::BareMetalHost;
use muster_resources::metal3::names::{annotation, finalizer, value};
use muster_resources::{Agent, ClusterDeployment};
use muster_workload::drain::{Drained, drain};
use muster_workload::node::read as read_node;

use super::hosts::Hosts;
use super::seen::{Progress, detached};
use crate::edits::Edits;

/// Longest drain by default.
const DRAIN_LIMIT: Duration = Duration::from_secs(600);

/// Does the next step of a deletion.
pub async fn delete(host: &BareMetalHost, agent: Option<&Agent>, hosts: &Hosts) -> Result<Action, Error> {
    if !finalizers::has(host, finalizer::HOST) {
        hosts.context.waits.set(&host.object_ref(&()), None);
        return Ok(Action::await_change());
    }
    let is_wanted = host.annotations().contains_key(annotation::REMOVE_AGENT_AND_NODE);
    if let Some(agent) = agent.filter(|_| is_wanted) {
        return remove(host, agent, hosts).await;
    }
    hosts.context.waits.set(&host.object_ref(&()), None);
    let edits = release(host);
    if let Some(patch) = edits.patch(host) {
        let patched = hosts
            .api(host)
            .patch_metadata(&host.name_any(), &patch_params(), &Patch::Merge(&patch))
            .await;
        unless_absent(patched)?;
        tracing::info!(host = %kube_ref(host), "BareMetalHost released");
    }
    Ok(Action::await_change())
}

/// Removes this service's finalizer, and with it the annotation by which Metal3 delays the deletion, so that it deprovisions the machine.
/// A host with a live ISO stays detached: attached, Metal3 could never delete it.
pub fn release(host: &BareMetalHost) -> Edits {
    let mut edits = Edits::default();
    if detached(host) == Some(value::DETACHED_DELAYS_DELETION) && host.spec.image.is_none() {
        edits.annotate(host, annotation::DETACHED, None);
    }
    edits.finalizers(finalizers::without(host, finalizer::HOST));
    edits
}

/// Drains the node, then deletes the Agent. When that is gone the watch of Agents triggers the next reconcile.
async fn remove(host: &BareMetalHost, agent: &Agent, hosts: &Hosts) -> Result<Action, Error> {
    if agent.metadata.deletion_timestamp.is_some() {
        return Ok(Action::requeue(RETRY_INTERVAL));
    }
    if Progress::of(Some(agent)) == Progress::Over
        && let Some(deployment) = deployment(agent, hosts).await?
    {
        let outcome = match node(agent) {
            Some(node) => drained(host, &deployment, (agent, &node), hosts).await,
            None => Ok(Drained::Yes),
        };
        if let Some(waiting) = drained_or_late(host, outcome, hosts).await? {
            return Ok(waiting);
        }
    }
    hosts.context.waits.set(&host.object_ref(&()), None);
    let deleted = hosts
        .agents(host)
        .delete(&agent.name_any(), &delete_params(agent))
        .await;
    unless_absent(deleted)?;
    tracing::info!(host = %kube_ref(host), agent = agent.name_any(), "the Agent is deleted with its BareMetalHost");
    Ok(Action::requeue(RETRY_INTERVAL))
}

/// Reports the progress of the drain; `None`: it is complete, or its time is over.
async fn drained_or_late(
    host: &BareMetalHost,
    outcome: Result<Drained, String>,
    hosts: &Hosts,
) -> Result<Option<Action>, Error> {
    let (why, is_drained) = match outcome {
        Ok(Drained::Yes) => (String::new(), true),
        Ok(Drained::Waiting(why)) | Err(why) => (why, false),
    };
    let began = began(host).unwrap_or_else(now);
    let until = began + limit(host);
    let next = next(is_drained, until, now());
    // One word each: a text that changes with every pod would change the object with every pod.
    let status = match next {
        Next::Delete => "drained",
        Next::GiveUp => "timed out",
        Next::Wait => "draining",
    };
    say(host, began, status, hosts).await?;
    let reference = host.object_ref(&());
    match next {
        Next::Delete => Ok(None),
        Next::GiveUp => {
            let note =
                format!("the node was not drained in time, and its Agent is deleted all the same: {why}");
            let event = warning("Drain", "DrainTimedOut", &note);
            hosts.context.events.publish(event, reference);
            Ok(None)
        }
        Next::Wait => {
            let wait = Wait {
                reason: "DrainingNode",
                what: format!("its node is drained before its Agent is deleted: {why}"),
                since: began,
                until: Some(Until::GivenUp(until, "then the Agent is deleted all the same")),
                todo: String::new(),
                needs_user: false,
            };
            hosts.context.waits.set(&reference, Some(wait));
            Ok(Some(Action::requeue(RETRY_INTERVAL)))
        }
    }
}

async fn deployment(agent: &Agent, hosts: &Hosts) -> Result<Option<ClusterDeployment>, Error> {
    let Some(name) = &agent.spec.cluster_deployment_name else {
        return Ok(None);
    };
    let api = Api::<ClusterDeployment>::namespaced(hosts.context.client.clone(), &name.namespace);
    Ok(api.get_opt(&name.name).await?)
}

/// The name of the host's node.
fn node(agent: &Agent) -> Option<String> {
    let asked = agent.spec.hostname.clone().filter(|name| !name.is_empty());
    asked.or_else(|| agent.status.as_ref()?.inventory.as_ref()?.hostname.clone())
}

/// Drains the Node of that name, unless it is another machine's. `Err`: the reason why the cluster cannot be reached.
async fn drained(
    host: &BareMetalHost,
    deployment: &ClusterDeployment,
    (agent, node): (&Agent, &str),
    hosts: &Hosts,
) -> Result<Drained, String> {
    let workloads = &hosts.context.workloads;
    let workload = workloads
        .of_deployment(deployment)
        .await
        .map_err(|error| error.to_string())?;
    let failed = |error: Error| format!("the request to the cluster failed: {error}");
    let found = Api::<Node>::all(workload.client.clone()).get_opt(node).await;
    let Some(found) = found.map_err(|error| failed(error.into()))? else {
        return Ok(Drained::Yes);
    };
    let provider_id = provider_id(&agent.name_any());
    let system_uuid = system_uuid(agent, hosts).await.map_err(failed)?;
    if read_node(&found).is_anothers(&provider_id, &system_uuid) {
        let note = format!(
            "The Node {node} reports another machine than the host of the Agent {}: it is not drained, and the Agent is deleted",
            agent.name_any()
        );
        let event = warning("Drain", "NodeOfAnotherMachine", &note);
        hosts.context.events.publish(event, host.object_ref(&()));
        return Ok(Drained::Yes);
    }
    drain(&workload.client, node, |_| true).await.map_err(failed)
}

/// UUID of the board, as the host's agent read it; empty: not known.
async fn system_uuid(agent: &Agent, hosts: &Hosts) -> Result<String, Error> {
    let (namespace, name) = (agent.namespace().unwrap_or_default(), agent.name_any());
    let Ok(id) = name.parse::<HostId>() else {
        return Ok(String::new());
    };
    hosts.context.records.system_uuid(&namespace, id).await
}

/// The next step of a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Delete,
    GiveUp,
    Wait,
}

fn next(is_drained: bool, until: Timestamp, now: Timestamp) -> Next {
    match (is_drained, until <= now) {
        (true, _) => Next::Delete,
        (false, true) => Next::GiveUp,
        (false, false) => Next::Wait,
    }
}

/// Longest drain, from the annotation.
fn limit(host: &BareMetalHost) -> Duration {
    let given = host.annotations().get(annotation::DRAIN_TIMEOUT);
    given
        .and_then(|given| text::duration(given)?.to_std().ok())
        .unwrap_or(DRAIN_LIMIT)
}

fn began(host: &BareMetalHost) -> Option<Timestamp> {
    host.annotations().get(annotation::DRAIN_STARTED_AT)?.parse().ok()
}

/// Writes the progress of the drain.
async fn say(host: &BareMetalHost, began: Timestamp, status: &str, hosts: &Hosts) -> Result<(), Error> {
    let mut edits = Edits::default();
    let began = began.format("%Y-%m-%dT%H:%M:%SZ").to_string();
    edits.annotate(host, annotation::DRAIN_STARTED_AT, Some(&began));
    edits.annotate(host, annotation::DRAIN_STATUS, Some(status));
    if let Some(patch) = edits.patch(host) {
        let patched = hosts
            .api(host)
            .patch_metadata(&host.name_any(), &patch_params(), &Patch::Merge(&patch))
            .await;
        unless_absent(patched)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn host(annotations: Value) -> BareMetalHost {
        serde_json::from_value(json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "h", "annotations": annotations}, "spec": {},
        }))
        .unwrap()
    }

    #[test]
    fn a_drain_has_an_end_that_the_annotation_sets() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        assert_eq!(limit(&host(json!({}))), minutes(10));
        assert_eq!(
            limit(&host(json!({annotation::DRAIN_TIMEOUT: "1h30m"}))),
            minutes(90)
        );
        assert_eq!(
            limit(&host(json!({annotation::DRAIN_TIMEOUT: "long"}))),
            minutes(10)
        );
        let at: Timestamp = "2026-11-24T12:00:00Z".parse().unwrap();
        let started = json!({annotation::DRAIN_STARTED_AT: "2026-11-24T12:00:00Z"});
        assert_eq!(began(&host(started)), Some(at), "as it is written");
        assert_eq!(next(false, at + minutes(10), at), Next::Wait);
        assert_eq!(next(false, at, at), Next::GiveUp);
        assert_eq!(next(true, at, at + minutes(10)), Next::Delete);
    }

    #[test]
    fn a_node_is_named_as_the_user_named_it_and_else_as_the_host_calls_itself() {
        let agent = |hostname: Value| -> Agent {
            serde_json::from_value(json!({
                "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent", "metadata": {"name": "a"},
                "spec": {"approved": true, "role": "", "hostname": hostname},
                "status": {"inventory": {"hostname": "reported"}},
            }))
            .unwrap()
        };
        assert_eq!(node(&agent(json!("asked"))).as_deref(), Some("asked"));
        assert_eq!(node(&agent(Value::Null)).as_deref(), Some("reported"));
    }
}
