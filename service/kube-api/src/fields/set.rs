//! Sets of fields and their JSON form `fieldsV1`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// A step of a path as `fieldsV1` writes it: `f:NAME`, `k:{KEYS}`, `v:VALUE`, `i:INDEX`.
pub type Step = String;

/// A set of fields, as a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    members: BTreeSet<Step>,
    children: BTreeMap<Step, FieldSet>,
}

impl FieldSet {
    pub fn from_json(json: &Value) -> Self {
        let mut set = Self::default();
        for (step, below) in json.as_object().into_iter().flatten() {
            if step == "." {
                continue;
            }
            let below_members = below.as_object();
            if below_members.is_none_or(|members| members.is_empty() || members.contains_key(".")) {
                set.members.insert(step.clone());
            }
            let child = Self::from_json(below);
            if !child.is_empty() {
                set.children.insert(step.clone(), child);
            }
        }
        set
    }

    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        for step in &self.members {
            json.insert(step.clone(), Value::Object(Map::new()));
        }
        for (step, child) in &self.children {
            let mut below = child.to_json();
            if self.members.contains(step)
                && let Some(below) = below.as_object_mut()
            {
                below.insert(".".into(), Value::Object(Map::new()));
            }
            json.insert(step.clone(), below);
        }
        Value::Object(json)
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// True when the set has the field one step away.
    pub fn contains(&self, step: &str) -> bool {
        self.members.contains(step)
    }

    /// The fields below a step.
    pub fn below(&self, step: &str) -> Option<&Self> {
        self.children.get(step)
    }

    pub fn insert(&mut self, path: &[Step]) {
        match path {
            [] => {}
            [step] => {
                self.members.insert(step.clone());
            }
            [step, rest @ ..] => self.children.entry(step.clone()).or_default().insert(rest),
        }
    }

    /// Removes a field and all fields below it.
    pub fn remove(&mut self, path: &[&str]) {
        match path {
            [] => {}
            [step] => {
                self.members.remove(*step);
                self.children.remove(*step);
            }
            [step, rest @ ..] => {
                if let Some(child) = self.children.get_mut(*step) {
                    child.remove(rest);
                    if child.is_empty() {
                        self.children.remove(*step);
                    }
                }
            }
        }
    }

    /// Removes a field and keeps the fields below it.
    pub fn remove_itself(&mut self, step: &str) {
        self.members.remove(step);
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.members.extend(other.members.iter().cloned());
        for (step, child) in &other.children {
            let merged = set
                .children
                .get(step)
                .map_or_else(|| child.clone(), |own| own.union(child));
            set.children.insert(step.clone(), merged);
        }
        set
    }

    /// The fields that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let children = self.children.iter().map(|(step, child)| {
            let rest = other
                .children
                .get(step)
                .map_or_else(|| child.clone(), |other| child.difference(other));
            (step.clone(), rest)
        });
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: children.filter(|(_, child)| !child.is_empty()).collect(),
        }
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(step, child)| {
            let shared = child.intersection(other.children.get(step)?);
            (!shared.is_empty()).then(|| (step.clone(), shared))
        });
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// Adds all parents of its fields: the owner of a member needs the object around it.
    #[must_use]
    pub fn with_parents(&self) -> Self {
        let mut set = self.clone();
        for (step, child) in &mut set.children {
            set.members.insert(step.clone());
            *child = child.with_parents();
        }
        set
    }

    /// The fields as messages show them: `.spec.list[name="a"].b`.
    pub fn shown(&self) -> Vec<String> {
        let mut all = Vec::new();
        self.show(String::new(), &mut all);
        all
    }

    fn show(&self, prefix: String, all: &mut Vec<String>) {
        let steps: BTreeSet<&Step> = self.members.iter().chain(self.children.keys()).collect();
        for step in steps {
            let path = format!("{prefix}{}", shown_step(step));
            if self.members.contains(step) {
                all.push(path.clone());
            }
            if let Some(child) = self.children.get(step) {
                child.show(path, all);
            }
        }
    }
}

fn shown_step(step: &str) -> String {
    match step.split_once(':') {
        Some(("f", name)) => format!(".{name}"),
        Some(("k", keys)) => {
            let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
            let keys: Vec<String> = keys
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            format!("[{}]", keys.join(","))
        }
        Some(("v", value)) => format!("[={value}]"),
        Some((_, index)) => format!("[{index}]"),
        None => step.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sets_are_written_and_read_and_calculated_with() {
        let json = json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {"f:list": {"k:{\"n\":\"x\"}": {".": {}, "f:v": {}}}}});
        let set = FieldSet::from_json(&json);
        assert_eq!(set.to_json(), json);
        assert_eq!(
            set.shown(),
            [
                ".metadata.labels",
                ".metadata.labels.a",
                ".spec.list[n=\"x\"]",
                ".spec.list[n=\"x\"].v"
            ]
        );
        let labels = FieldSet::from_json(&json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}));
        let rest = set.difference(&labels);
        assert_eq!(rest.to_json(), json!({"f:spec": json["f:spec"]}));
        assert_eq!(set.intersection(&labels), labels);
        assert_eq!(rest.union(&labels), set);
        assert!(labels.difference(&labels).is_empty());
        assert!(rest.with_parents().contains("f:spec"));
    }
}
