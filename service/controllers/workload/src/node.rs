//! Reads Nodes, and finds that of a host. Source: docs/protocol/install-flow.md#10.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use chrono::Duration;
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use kube::ResourceExt;
use muster_api::time::Timestamp;
use muster_controller::references::PROVIDER_ID_PREFIX;
use muster_controller::times::timestamp;
use muster_resources::hypershift::Taint;
use uuid::Uuid;

use crate::node_settings;

/// Difference that the cluster's clock may have to this service's.
const CLOCK_DIFFERENCE: Duration = Duration::seconds(60);

/// Silence after which a kubelet is not expected back soon: its Node is taken for an earlier one.
pub const SILENCE: Duration = Duration::minutes(5);

/// Labels of nodes that run the cluster itself.
const CONTROL_PLANE: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

/// Readiness of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// The kubelet reports that it is ready.
    Ready,
    /// The kubelet reports that it is not ready.
    NotReady,
    /// The kubelet is silent.
    Silent,
}

/// The reason for which a Node keeps its name from another installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The Node reports another machine than the host.
    AnotherMachines,
    /// The kubelet reports.
    Lives,
    /// The kubelet is silent, and not for long; from `until` on it is taken for dead.
    Silent { until: Option<Timestamp> },
    /// The Node is one of the control plane: silence alone does not end it.
    ControlPlane,
    /// The Node is that of the former system, which the host's upgrade in place deletes; from `until` on that is waited for no longer.
    Former { until: Option<Timestamp> },
}

/// A Node, without the parts that change all the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    pub name: String,
    pub uid: String,
    /// `spec.providerID`; empty: not set.
    pub provider_id: String,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    /// UUID of the machine, as the kubelet reads it; empty: not reported.
    pub system_uuid: String,
    pub addresses: BTreeSet<IpAddr>,
    pub readiness: Readiness,
    /// Last change of the readiness.
    pub since: Option<Timestamp>,
    /// The reason that the kubelet reports.
    pub why: String,
    pub created: Option<Timestamp>,
    pub is_leaving: bool,
}

/// Reads a Node.
pub fn read(node: &Node) -> NodeFacts {
    let status = node.status.clone().unwrap_or_default();
    let ready = status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == "Ready");
    let spec = node.spec.as_ref();
    let taints = spec.and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
    let mut facts = NodeFacts {
        name: node.name_any(),
        uid: node.uid().unwrap_or_default(),
        provider_id: node
            .spec
            .as_ref()
            .and_then(|spec| spec.provider_id.clone())
            .unwrap_or_default(),
        labels: node.labels().clone(),
        taints: taints.map(node_settings::read).collect(),
        system_uuid: status
            .node_info
            .as_ref()
            .map(|info| info.system_uuid.clone())
            .unwrap_or_default(),
        addresses: BTreeSet::new(),
        readiness: ready.map_or(Readiness::NotReady, readiness),
        since: ready
            .and_then(|ready| ready.last_transition_time.as_ref())
            .and_then(timestamp),
        why: ready.map(why).unwrap_or_default(),
        created: node.creation_timestamp().and_then(|time| timestamp(&time)),
        is_leaving: node.metadata.deletion_timestamp.is_some(),
    };
    let addresses = status.addresses.iter().flatten();
    facts.addresses = addresses.filter_map(|one| one.address.parse().ok()).collect();
    facts
}

fn readiness(condition: &NodeCondition) -> Readiness {
    match condition.status.as_str() {
        "True" => Readiness::Ready,
        "False" => Readiness::NotReady,
        _ => Readiness::Silent,
    }
}

fn why(condition: &NodeCondition) -> String {
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    let (reason, message) = (part(&condition.reason), part(&condition.message));
    match (reason.is_empty(), message.is_empty()) {
        (false, false) => format!("{reason}: {message}"),
        _ => format!("{reason}{message}"),
    }
}

impl NodeFacts {
    /// True when the Node was created at `time` or later.
    pub fn is_made_since(&self, time: Timestamp) -> bool {
        is_since(self.created, time)
    }

    /// True if the kubelet reports, and did not before `time`.
    pub fn is_heard_since(&self, time: Timestamp) -> bool {
        self.is_heard() && is_since(self.since, time)
    }

    /// True if the kubelet reports whether it is ready: nothing else does.
    pub fn is_heard(&self) -> bool {
        self.readiness != Readiness::Silent
    }

    /// The time from which the kubelet counts as dead; `None`: it reports.
    pub fn dead_from(&self) -> Option<Timestamp> {
        self.since
            .filter(|_| !self.is_heard())
            .map(|since| since + SILENCE)
    }

    /// False when the kubelet has been silent for [`SILENCE`].
    pub fn lives(&self, now: Timestamp) -> bool {
        self.dead_from().is_none_or(|from| now < from)
    }

    /// True if the Node reports the machine of another host than the one with `provider_id` and `system_uuid` (empty: not known).
    pub fn is_anothers(&self, provider_id: &str, system_uuid: &str) -> bool {
        let other_host = self.provider_id.starts_with(PROVIDER_ID_PREFIX) && self.provider_id != provider_id;
        other_host || are_different(&self.system_uuid, system_uuid)
    }

    pub fn is_control_plane(&self) -> bool {
        CONTROL_PLANE.iter().any(|label| self.labels.contains_key(*label))
    }
}

fn is_since(time: Option<Timestamp>, from: Timestamp) -> bool {
    time.is_some_and(|time| time >= from - CLOCK_DIFFERENCE)
}

/// True for two different UUIDs. Old firmware has the bytes of the first three groups in the other order.
fn are_different(one: &str, other: &str) -> bool {
    let (Ok(one), Ok(other)) = (one.parse::<Uuid>(), other.parse::<Uuid>()) else {
        return false;
    };
    one != other && one.to_bytes_le() != *other.as_bytes()
}

/// The Node of a host: the one with its name, which only a kubelet with a certificate of that name makes. A provider id proves nothing: a
/// kubelet may set any when it makes its Node.
pub fn of_host<'a>(mut nodes: impl Iterator<Item = &'a NodeFacts>, hostname: &str) -> Option<&'a NodeFacts> {
    nodes.find(|node| !hostname.is_empty() && node.name.eq_ignore_ascii_case(hostname))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(name: &str, provider_id: &str, ready: &Value) -> NodeFacts {
        let object: Node = serde_json::from_value(json!({
            "metadata": {"name": name, "creationTimestamp": "2026-11-20T00:00:00Z"},
            "spec": {"providerID": provider_id},
            "status": {
                "addresses": [{"type": "InternalIP", "address": "192.0.2.7"}, {"type": "Hostname", "address": name}],
                "conditions": if ready.is_null() { json!([]) } else { json!([{"type": "MemoryPressure", "status": "False"}, ready]) },
            },
        }))
        .unwrap();
        read(&object)
    }

    fn ready(status: &str, since: &str) -> Value {
        json!({"type": "Ready", "status": status, "lastTransitionTime": since, "reason": "R", "message": "m"})
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_node_is_found_by_its_name_in_any_case_and_by_no_provider_id() {
        let nodes = [
            node("renamed", "agent://1", &Value::Null),
            node("worker-1", "", &Value::Null),
        ];
        let found = |name: &str| of_host(nodes.iter(), name).map(|node| node.name.as_str());
        assert_eq!(found("Worker-1"), Some("worker-1"));
        assert_eq!(found("worker"), None);
        assert_eq!(found(""), None);
        assert_eq!(nodes[1].addresses.len(), 1);
    }

    #[test]
    fn who_speaks_for_a_node_and_since_when() {
        let rebooted = at("2026-11-22T08:00:00Z");
        let of = |status: &str, since: &str| node("a", "", &ready(status, since));
        assert!(!of("True", "2026-11-22T07:00:00Z").is_heard_since(rebooted));
        assert!(!of("Unknown", "2026-11-22T08:10:00Z").is_heard_since(rebooted));
        assert!(of("False", "2026-11-22T08:10:00Z").is_heard_since(rebooted));
        assert!(
            of("True", "2026-11-22T07:59:30Z").is_heard_since(rebooted),
            "clocks differ a little"
        );
        let mut new = of("Unknown", "2026-11-22T08:00:10Z");
        assert!(!new.is_made_since(rebooted));
        new.created = Some(at("2026-11-22T08:00:10Z"));
        assert!(new.is_made_since(rebooted));
        assert!(new.lives(at("2026-11-22T08:05:09Z")) && !new.lives(at("2026-11-22T08:05:10Z")));
        assert!(of("False", "2026-11-01T08:00:00Z").lives(rebooted));
        assert!(
            node("a", "", &Value::Null).lives(rebooted),
            "nobody has said that it is silent"
        );
    }

    #[test]
    fn a_node_tells_whose_machine_it_is() {
        let uuid = "4c4c4544-0033-3510-8052-b4c04f4e3632";
        let mut node = node("a", "agent://1", &Value::Null);
        assert!(node.is_anothers("agent://2", "") && !node.is_anothers("agent://1", ""));
        node.provider_id = "baremetalhost:///x/y".into();
        assert!(!node.is_anothers("agent://2", uuid), "it tells no UUID");
        node.system_uuid = uuid.to_uppercase();
        assert!(!node.is_anothers("agent://2", uuid) && !node.is_anothers("agent://2", ""));
        assert!(
            !node.is_anothers("agent://2", "44454c4c-3300-1035-8052-b4c04f4e3632"),
            "bytes in the other order"
        );
        assert!(node.is_anothers("agent://2", "4c4c4544-0033-3510-8052-b4c04f4e3633"));
        node.labels
            .insert("node-role.kubernetes.io/master".into(), String::new());
        assert!(node.is_control_plane());
    }

    #[test]
    fn readiness_is_told_with_its_reason() {
        assert_eq!(
            node("a", "", &ready("True", "2026-11-22T08:00:00Z")).readiness,
            Readiness::Ready
        );
        let silent = node("a", "", &ready("Unknown", "2026-11-22T08:00:00Z"));
        assert_eq!(
            (silent.readiness, silent.why.as_str()),
            (Readiness::Silent, "R: m")
        );
        assert_eq!(node("a", "", &Value::Null).readiness, Readiness::NotReady);
    }
}
