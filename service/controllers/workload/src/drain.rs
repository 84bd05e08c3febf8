//! Drains the Node of a Machine like `kubectl drain`: no new pods, and the present ones are evicted. Source: Cluster API v1.11,
//! internal/controllers/machine/drain.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{EvictParams, ListParams, Patch};
use kube::{Api, Client, ResourceExt};
use muster_api::time::{Timestamp, now};
use muster_controller::error::{Error, unless_absent};
use muster_controller::times::timestamp;
use muster_controller::writes::patch_params;
use serde_json::json;

use crate::node::{Readiness, read};

/// Annotation of pods that a kubelet has from a file: they cannot be evicted.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Time after a pod should have ended.
const OVERDUE: TimeDelta = TimeDelta::minutes(5);

/// Most pods that one message names.
const NAMED: usize = 5;

/// The progress of a drain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drained {
    /// No pods are left.
    Yes,
    /// Pods that the drain waits for, and why.
    Waiting(String),
}

/// Keeps new pods off the node, and evicts the present ones. If `is_own` is false, another machine has joined under the name, and
/// nothing is done.
///
/// # Errors
/// Fails if the workload cluster does.
pub async fn drain(client: &Client, node: &str, is_own: impl Fn(&Node) -> bool) -> Result<Drained, Error> {
    let nodes = Api::<Node>::all(client.clone());
    let found = nodes.get_opt(node).await?;
    let Some(found) = found.filter(is_own) else {
        return Ok(Drained::Yes);
    };
    // The kubelet of a node that is out of reach ends no pod.
    let is_silent = read(&found).readiness == Readiness::Silent;
    let spec = found.spec.unwrap_or_default();
    if spec.unschedulable != Some(true) {
        let patch = Patch::Merge(json!({"spec": {"unschedulable": true}}));
        unless_absent(nodes.patch(node, &patch_params(), &patch).await)?;
    }
    let params = ListParams::default().fields(&format!("spec.nodeName={node}"));
    // A cluster that consists of an API alone has no pods.
    let pods = unless_absent(Api::<Pod>::all(client.clone()).list(&params).await)?;
    let pods: Vec<Pod> = pods
        .into_iter()
        .flat_map(|pods| pods.items)
        .filter(goes)
        .collect();
    let mut left: BTreeMap<String, &'static str> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !is_silent || !is_overdue(pod, now())) {
        if let Some(why) = evict(client, pod).await? {
            left.insert(
                format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any()),
                why,
            );
        }
    }
    Ok(message(&left).map_or(Drained::Yes, Drained::Waiting))
}

/// True for a pod that should have ended long ago. On a node that is out of reach none is waited for then. Source: Cluster API,
/// `SkipWaitForDeleteTimeoutSeconds` of such nodes.
fn is_overdue(pod: &Pod, now: Timestamp) -> bool {
    let ends = pod.metadata.deletion_timestamp.as_ref().and_then(timestamp);
    ends.is_some_and(|ends| now - ends >= OVERDUE)
}

/// True for pods that must leave before their node is deleted.
fn goes(pod: &Pod) -> bool {
    let is_mirror = pod.annotations().contains_key(MIRROR);
    // A DaemonSet places its pods on cordoned nodes, too.
    let is_everywhere = pod
        .owner_references()
        .iter()
        .any(|owner| owner.kind == "DaemonSet" && owner.controller == Some(true));
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let is_over = matches!(phase, Some("Succeeded" | "Failed"));
    !is_mirror && !is_everywhere && !is_over
}

/// Evicts a pod; `None`: it is gone.
async fn evict(client: &Client, pod: &Pod) -> Result<Option<&'static str>, Error> {
    if pod.metadata.deletion_timestamp.is_some() {
        return Ok(Some("is ending"));
    }
    let api = Api::<Pod>::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    match api.evict(&pod.name_any(), &EvictParams::default()).await {
        Ok(_) => Ok(Some("is ending")),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(kube::Error::Api(status)) if status.code == 429 => Ok(Some("is kept by a PodDisruptionBudget")),
        Err(error) => Err(error.into()),
    }
}

fn message(left: &BTreeMap<String, &'static str>) -> Option<String> {
    if left.is_empty() {
        return None;
    }
    let mut named: Vec<String> = left
        .iter()
        .take(NAMED)
        .map(|(pod, why)| format!("{pod} {why}"))
        .collect();
    if left.len() > NAMED {
        named.push(format!("and {} more", left.len() - NAMED));
    }
    Some(format!("waits for pods to leave: {}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn pod(metadata: Value, phase: &str) -> Pod {
        serde_json::from_value(json!({"metadata": metadata, "status": {"phase": phase}})).unwrap()
    }

    #[test]
    fn pods_that_nobody_can_evict_or_that_are_over_are_left() {
        assert!(goes(&pod(json!({"name": "a"}), "Running")));
        assert!(!goes(&pod(json!({"name": "a"}), "Succeeded")));
        assert!(!goes(&pod(
            json!({"name": "a", "annotations": {MIRROR: "x"}}),
            "Running"
        )));
        let owner = |kind: &str| {
            json!({"name": "a", "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "controller": true}]})
        };
        assert!(!goes(&pod(owner("DaemonSet"), "Running")));
        assert!(goes(&pod(owner("ReplicaSet"), "Running")));
    }

    #[test]
    fn a_pod_is_overdue_some_minutes_after_it_should_have_ended() {
        let ending = pod(
            json!({"name": "a", "deletionTimestamp": "2026-11-22T08:00:00Z"}),
            "Running",
        );
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert!(!is_overdue(&ending, at("2026-11-22T08:04:59Z")));
        assert!(is_overdue(&ending, at("2026-11-22T08:05:00Z")));
        assert!(!is_overdue(
            &pod(json!({"name": "a"}), "Running"),
            at("2026-11-22T08:05:00Z")
        ));
    }

    #[test]
    fn a_message_names_a_few() {
        assert_eq!(message(&BTreeMap::new()), None);
        let left = (0..7)
            .map(|number| (format!("n/{number}"), "is ending"))
            .collect();
        let message = message(&left).unwrap();
        assert!(message.ends_with("n/4 is ending, and 2 more"), "{message}");
    }
}
