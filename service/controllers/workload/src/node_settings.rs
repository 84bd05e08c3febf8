//! Sets the labels and taints of a NodePool on the Node of its Machine, and removes those that it no longer has. Source: HyperShift,
//! control-plane-operator/hostedclusterconfigoperator/controllers/node (labels with a prefix, the annotation with taints);
//! docs/protocol/capi-agent-provider.md#8.2.
//!
//! Only those labels and taints of a Node are changed that were set in this way: annotations of the Node list them, as in Cluster
//! API.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Node, Taint as NodeTaint};
use kube::api::Patch;
use kube::{Api, ResourceExt};
use muster_controller::writes::patch_params;
use muster_resources::cluster_api::Machine;
use muster_resources::hypershift::{
    NODE_LABEL_PREFIX, NODE_POOL, NODE_POOL_LABEL, NODE_POOL_TAINTS, NodePool, Taint,
};
use serde_json::{Map, Value, json};

/// Annotation of Nodes: keys of labels from their Machine, a comma list.
const LABELS: &str = "cluster.x-k8s.io/labels-from-machine";

/// Annotation of Nodes: taints from their Machine, a comma list of `KEY:EFFECT`.
const TAINTS: &str = "cluster.x-k8s.io/taints-from-machine";

/// Attempts to write a Node that changes meanwhile.
const TRIES: usize = 3;

/// The labels and taints of a Node that follow from its Machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSettings {
    labels: BTreeMap<String, String>,
    taints: Vec<Taint>,
}

/// Returns the labels and annotations in which a Machine stores the settings of its pool.
pub fn of_pool(pool: &NodePool) -> (BTreeMap<String, String>, Option<String>) {
    let labels = pool.spec.node_labels.iter();
    let labels = labels.map(|(key, value)| (format!("{NODE_LABEL_PREFIX}{key}"), value.clone()));
    let taints = &pool.spec.taints;
    let taints = (!taints.is_empty()).then(|| json!(taints).to_string());
    (labels.collect(), taints)
}

/// The merge patch of the metadata that stores the settings of the pool in `machine`; `None`: nothing differs.
pub fn machine_metadata(machine: &Machine, pool: &NodePool) -> Option<Value> {
    let (wanted, taints) = of_pool(pool);
    let present = machine.labels();
    let gone = present
        .keys()
        .filter(|key| key.starts_with(NODE_LABEL_PREFIX) && !wanted.contains_key(*key));
    let mut labels: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
    let new = wanted
        .iter()
        .filter(|(key, value)| present.get(*key) != Some(value));
    labels.extend(new.map(|(key, value)| (key.clone(), json!(value))));
    let mut metadata = Map::new();
    if !labels.is_empty() {
        metadata.insert("labels".into(), labels.into());
    }
    if machine.annotations().get(NODE_POOL_TAINTS) != taints.as_ref() {
        metadata.insert("annotations".into(), json!({ NODE_POOL_TAINTS: taints }));
    }
    (!metadata.is_empty()).then(|| metadata.into())
}

impl NodeSettings {
    /// The settings of a Machine; `None`: it belongs to no NodePool.
    pub fn of(machine: &Machine) -> Option<Self> {
        let pool = machine.annotations().get(NODE_POOL)?;
        let labels = machine.labels().iter().filter_map(|(key, value)| {
            let key = key.strip_prefix(NODE_LABEL_PREFIX)?;
            Some((key.to_owned(), value.clone()))
        });
        let mut labels: BTreeMap<String, String> = labels.collect();
        let pool = pool.rsplit('/').next().unwrap_or_default();
        labels.insert(NODE_POOL_LABEL.to_owned(), pool.to_owned());
        let taints = machine.annotations().get(NODE_POOL_TAINTS);
        let taints = taints.and_then(|text| serde_json::from_str(text).ok());
        Some(Self {
            labels,
            taints: taints.unwrap_or_default(),
        })
    }

    /// True when a Node with these labels and taints has all of them.
    pub fn are_on(&self, labels: &BTreeMap<String, String>, taints: &[Taint]) -> bool {
        let is_there = |(key, value): (&String, &String)| labels.get(key) == Some(value);
        self.labels.iter().all(is_there) && self.taints.iter().all(|taint| taints.contains(taint))
    }

    /// True if the settings contain this label.
    pub fn decide(&self, label: &str) -> bool {
        self.labels.contains_key(label)
    }

    /// The merge patch that sets them on `node`; `None`: they are set, and nothing else that was set in this way.
    fn patch(&self, node: &Node) -> Option<Value> {
        let mut metadata = Map::new();
        let (present, before) = (node.labels(), listed(node, LABELS));
        let gone = before
            .iter()
            .filter(|key| !self.labels.contains_key(**key) && present.contains_key(**key));
        let mut labels: Map<String, Value> = gone.map(|key| ((*key).to_owned(), Value::Null)).collect();
        let new = self
            .labels
            .iter()
            .filter(|(key, value)| present.get(*key) != Some(value));
        labels.extend(new.map(|(key, value)| (key.clone(), json!(value))));
        if !labels.is_empty() {
            metadata.insert("labels".into(), labels.into());
        }

        let spec = node.spec.as_ref();
        let present = spec.and_then(|spec| spec.taints.clone()).unwrap_or_default();
        let before = listed(node, TAINTS);
        let is_wanted = |one: &NodeTaint| self.taints.iter().any(|taint| *taint == read(one));
        let is_ours = |one: &NodeTaint| {
            let name = name(&read(one));
            before.contains(name.as_str()) || self.taints.iter().any(|taint| self::name(taint) == name)
        };
        // A taint that is set already keeps its time.
        let kept = present
            .iter()
            .filter(|one| is_wanted(one) || !is_ours(one))
            .cloned();
        let mut taints: Vec<NodeTaint> = kept.collect();
        for taint in &self.taints {
            if !taints.iter().any(|one| read(one) == *taint) {
                taints.push(written(taint));
            }
        }

        let annotations = [
            (LABELS, self.labels.keys().cloned().collect::<Vec<_>>().join(",")),
            (TAINTS, self.taints.iter().map(name).collect::<Vec<_>>().join(",")),
        ];
        let annotations = annotations.into_iter().filter(|(key, value)| {
            let present = node.annotations().get(*key).map_or("", String::as_str);
            present != value
        });
        let annotations: Map<String, Value> = annotations
            .map(|(key, value)| (key.to_owned(), json!(value)))
            .collect();
        if !annotations.is_empty() {
            metadata.insert("annotations".into(), annotations.into());
        }
        let mut patch = json!({});
        if taints != present {
            patch["spec"] = json!({ "taints": taints });
        }
        if metadata.is_empty() && patch == json!({}) {
            return None;
        }
        // The list of taints is sent as a whole, and other clients write it, too.
        metadata.insert("resourceVersion".into(), json!(node.resource_version()));
        patch["metadata"] = metadata.into();
        Some(patch)
    }

    /// Sets them on `node`, and returns the patched Node. A Node that changed meanwhile, as its kubelet reports, is read again.
    ///
    /// # Errors
    /// Fails if the API server does; with a conflict if the Node changes all the time.
    pub async fn put(&self, api: &Api<Node>, node: Node) -> kube::Result<Node> {
        let (name, mut node) = (node.name_any(), node);
        for _ in 1..TRIES {
            match self.put_once(api, node).await {
                Err(kube::Error::Api(status)) if status.code == 409 => node = api.get(&name).await?,
                outcome => return outcome,
            }
        }
        self.put_once(api, node).await
    }

    async fn put_once(&self, api: &Api<Node>, node: Node) -> kube::Result<Node> {
        let Some(patch) = self.patch(&node) else {
            return Ok(node);
        };
        let name = node.name_any();
        let changed = api.patch(&name, &patch_params(), &Patch::Merge(patch)).await?;
        tracing::info!(
            node = name,
            "labels and taints of the NodePool were put on the Node"
        );
        Ok(changed)
    }
}

/// The entries of a comma list in an annotation.
fn listed<'a>(node: &'a Node, annotation: &str) -> BTreeSet<&'a str> {
    let list = node.annotations().get(annotation).map_or("", String::as_str);
    list.split(',').filter(|entry| !entry.is_empty()).collect()
}

/// Key and effect distinguish the taints of a Node.
fn name(taint: &Taint) -> String {
    format!("{}:{}", taint.key, taint.effect)
}

/// A Node's taint.
pub fn read(taint: &NodeTaint) -> Taint {
    Taint {
        key: taint.key.clone(),
        value: taint.value.clone().unwrap_or_default(),
        effect: taint.effect.clone(),
    }
}

fn written(taint: &Taint) -> NodeTaint {
    NodeTaint {
        key: taint.key.clone(),
        value: Some(taint.value.clone()).filter(|value| !value.is_empty()),
        effect: taint.effect.clone(),
        time_added: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(labels: &Value, taints: &Value) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "spec": {},
            "metadata": {
                "name": "m", "labels": labels,
                "annotations": {NODE_POOL: "clusters/np", NODE_POOL_TAINTS: taints.to_string()},
            },
        }))
        .unwrap()
    }

    fn merged(mut node: Value, patch: &Value) -> Node {
        for (part, member) in [("metadata", "labels"), ("metadata", "annotations")] {
            for (key, value) in patch[part][member].as_object().into_iter().flatten() {
                node[part][member][key] = value.clone();
                if value.is_null() {
                    node[part][member].as_object_mut().unwrap().remove(key);
                }
            }
        }
        if let Some(taints) = patch["spec"].get("taints") {
            node["spec"]["taints"] = taints.clone();
        }
        serde_json::from_value(node).unwrap()
    }

    #[test]
    fn a_node_gets_what_its_pool_has_and_loses_what_it_no_longer_has() {
        let not_ready = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-11-22T08:00:00Z"});
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": "n", "resourceVersion": "7", "labels": {"own": "x"}, "annotations": {}},
            "spec": {"taints": [not_ready]},
        }))
        .unwrap();
        let first = machine(
            &json!({"managed.hypershift.openshift.io.example.test/tier": "gold", "managed.hypershift.openshift.io.rack": "1", "else": "x"}),
            &json!([{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]),
        );
        let first = NodeSettings::of(&first).unwrap();
        let patch = first.patch(&node).unwrap();
        assert_eq!(
            patch["metadata"]["labels"],
            json!({"example.test/tier": "gold", "rack": "1", "hypershift.openshift.io/nodePool": "np"})
        );
        assert_eq!(
            patch["spec"]["taints"],
            json!([not_ready, {"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
        );
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        let node = merged(json!(node), &patch);
        assert_eq!(first.patch(&node), None);
        let taints: Vec<Taint> = node
            .spec
            .as_ref()
            .unwrap()
            .taints
            .iter()
            .flatten()
            .map(read)
            .collect();
        assert!(first.are_on(node.labels(), &taints) && !first.are_on(node.labels(), &taints[..1]));

        let second = machine(&json!({"managed.hypershift.openshift.io.rack": "2"}), &json!([]));
        let second = NodeSettings::of(&second).unwrap();
        let patch = second.patch(&node).unwrap();
        assert_eq!(
            patch["metadata"]["labels"],
            json!({"example.test/tier": null, "rack": "2"})
        );
        assert_eq!(patch["spec"]["taints"], json!([not_ready]));
        let node = merged(json!(node), &patch);
        assert_eq!(second.patch(&node), None);
        assert_eq!(node.labels().get("own").map(String::as_str), Some("x"));
    }

    #[test]
    fn a_machine_of_no_pool_decides_nothing() {
        let mut machine = machine(&json!({}), &json!([]));
        machine.metadata.annotations = None;
        assert_eq!(NodeSettings::of(&machine), None);
    }
}
