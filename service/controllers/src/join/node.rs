//! Reads Nodes, and finds that of a host. Source: docs/protocol/install-flow.md#10.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use chrono::Duration;
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use kube::ResourceExt;
use muster_api::time::Timestamp;
use muster_resources::hypershift::Taint;

use super::times::timestamp;
use crate::node_settings;

/// Difference that the cluster's clock may have to ours.
const CLOCK_DIFFERENCE: Duration = Duration::seconds(60);

/// Readiness of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Its kubelet says so.
    Ready,
    /// Its kubelet says that it is not.
    NotReady,
    /// Its kubelet is silent.
    Silent,
}

/// A Node, without what changes all the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    pub name: String,
    pub uid: String,
    /// `spec.providerID`; empty: none.
    pub provider_id: String,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    pub dns_names: BTreeSet<String>,
    pub addresses: BTreeSet<IpAddr>,
    pub readiness: Readiness,
    /// Last change of the readiness.
    pub since: Option<Timestamp>,
    /// What its kubelet says of it.
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
        dns_names: BTreeSet::new(),
        addresses: BTreeSet::new(),
        readiness: ready.map_or(Readiness::NotReady, readiness),
        since: ready
            .and_then(|ready| ready.last_transition_time.as_ref())
            .and_then(timestamp),
        why: ready.map(why).unwrap_or_default(),
        created: node.creation_timestamp().and_then(|time| timestamp(&time)),
        is_leaving: node.metadata.deletion_timestamp.is_some(),
    };
    for address in status.addresses.iter().flatten() {
        match address.type_.as_str() {
            "Hostname" | "InternalDNS" | "ExternalDNS" => {
                facts.dns_names.insert(address.address.clone());
            }
            _ => facts.addresses.extend(address.address.parse::<IpAddr>().ok()),
        }
    }
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
    /// True when it came up after `rebooted`: a Node of an earlier installation may still be there, and says for a while that
    /// it is ready. `certified`: since `rebooted` its kubelet got a certificate.
    pub fn is_of_installation(&self, rebooted: Timestamp, certified: bool) -> bool {
        let from = rebooted - CLOCK_DIFFERENCE;
        let is_since = |time: Option<Timestamp>| time.is_some_and(|time| time >= from);
        is_since(self.created)
            || match self.readiness {
                // Nobody but its kubelet says either.
                Readiness::Ready | Readiness::NotReady => certified || is_since(self.since),
                Readiness::Silent => false,
            }
    }
}

/// The Node of a host: the one with its provider id, else the one with its name.
pub fn of_host<'a>(
    nodes: impl Iterator<Item = &'a NodeFacts> + Clone,
    provider_id: &str,
    hostname: &str,
) -> Option<&'a NodeFacts> {
    let by_name = || {
        nodes
            .clone()
            .find(|node| !hostname.is_empty() && node.name.eq_ignore_ascii_case(hostname))
    };
    nodes
        .clone()
        .find(|node| node.provider_id == provider_id)
        .or_else(by_name)
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
    fn a_node_is_found_by_its_provider_id_and_else_by_its_name_in_any_case() {
        let nodes = [
            node("worker-1", "", &Value::Null),
            node("renamed", "agent://1", &Value::Null),
        ];
        let found = |id: &str, name: &str| of_host(nodes.iter(), id, name).map(|node| node.name.as_str());
        assert_eq!(found("agent://1", "worker-1"), Some("renamed"));
        assert_eq!(found("agent://2", "Worker-1"), Some("worker-1"));
        assert_eq!(found("agent://2", "worker"), None);
        assert_eq!(found("agent://2", ""), None);
        assert_eq!(nodes[0].addresses.len(), 1);
        assert!(nodes[0].dns_names.contains("worker-1"));
    }

    #[test]
    fn a_node_of_an_earlier_installation_is_not_taken_for_the_new_one() {
        let rebooted = at("2026-11-22T08:00:00Z");
        let of = |status: &str, since: &str, certified| {
            node("a", "", &ready(status, since)).is_of_installation(rebooted, certified)
        };
        assert!(
            !of("True", "2026-11-22T07:00:00Z", false),
            "it has been ready since before"
        );
        assert!(
            !of("Unknown", "2026-11-22T08:10:00Z", false),
            "its kubelet fell silent"
        );
        assert!(!of("Unknown", "2026-11-22T08:10:00Z", true));
        assert!(of("True", "2026-11-22T08:10:00Z", false));
        assert!(of("False", "2026-11-22T08:10:00Z", false));
        assert!(
            of("True", "2026-11-22T07:59:30Z", false),
            "clocks differ a little"
        );
        assert!(of("True", "2026-11-22T07:00:00Z", true));
        let mut new = node("a", "", &ready("Unknown", "2026-11-22T08:00:10Z"));
        new.created = Some(at("2026-11-22T08:00:10Z"));
        assert!(new.is_of_installation(rebooted, false));
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
