//! Collects changes of one object, for one merge patch. Source: docs/protocol/kube-controllers.md#7 (edits are merge patches with
//! the resource version that was read).

use kube::{Resource, ResourceExt};
use serde_json::{Map, Value, json};

/// Changes of metadata and spec. `null` removes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Edits {
    metadata: Map<String, Value>,
    spec: Map<String, Value>,
}

impl Edits {
    /// Sets an annotation, unless `object` has this value; `None` removes it.
    pub fn annotate(&mut self, object: &impl Resource, key: &str, value: Option<&str>) {
        if object.annotations().get(key).map(String::as_str) != value {
            self.entry("annotations", key, value);
        }
    }

    /// Like [`annotate`](Self::annotate), for a label.
    pub fn label(&mut self, object: &impl Resource, key: &str, value: Option<&str>) {
        if object.labels().get(key).map(String::as_str) != value {
            self.entry("labels", key, value);
        }
    }

    fn entry(&mut self, map: &str, key: &str, value: Option<&str>) {
        let map = self.metadata.entry(map).or_insert_with(|| json!({}));
        map[key] = json!(value);
    }

    /// Sets all finalizers.
    pub fn finalizers(&mut self, list: Vec<String>) {
        self.metadata.insert("finalizers".into(), json!(list));
    }

    /// Sets a member of the spec.
    pub fn spec(&mut self, member: &str, value: Value) {
        self.spec.insert(member.to_owned(), value);
    }

    /// The patch, which fails with a conflict when `object` was changed since it was read; `None`: nothing changes.
    pub fn patch(&self, object: &impl Resource) -> Option<Value> {
        if self.metadata.is_empty() && self.spec.is_empty() {
            return None;
        }
        let mut metadata = self.metadata.clone();
        metadata.insert("resourceVersion".into(), json!(object.resource_version()));
        let mut patch = json!({ "metadata": metadata });
        if !self.spec.is_empty() {
            patch["spec"] = json!(self.spec);
        }
        Some(patch)
    }
}
