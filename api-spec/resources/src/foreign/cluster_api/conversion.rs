//! Converts Clusters and Machines between v1beta1, which HyperShift writes, and v1beta2, in which they are stored. Source: Cluster API
//! v1.11, api/core/v1beta1/conversion.go.
//!
//! Members that the other version has in another form are converted. Content that the other version cannot hold (a reference's namespace,
//! parts of a second, a managed topology) is kept in an annotation until the object is converted back, unless the member was changed
//! meanwhile: a round trip loses nothing, in either direction.

mod cluster;
mod machine;
mod parts;

pub use parts::{V1BETA1, V1BETA2, seconds_of};

use serde_json::{Map, Value, json};

/// Prefix of the annotation with content that only the version after the slash can hold.
const KEPT: &str = "conversion.muster/";

/// Members of an object that differ between versions.
const SECTIONS: [&str; 2] = ["spec", "status"];

/// Converts the `spec` or `status` of an object in the namespace to the version.
type Section = fn(Map<String, Value>, namespace: &str, to: &str) -> Map<String, Value>;

/// A kind that both versions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Cluster,
    Machine,
}

impl Kind {
    fn section(self, name: &str) -> Section {
        match (self, name) {
            (Self::Cluster, "spec") => cluster::spec,
            (Self::Cluster, _) => cluster::status,
            (Self::Machine, "spec") => machine::spec,
            (Self::Machine, _) => machine::status,
        }
    }
}

/// Returns `object`, which is of this kind, in the version `to`.
pub fn convert(kind: Kind, mut object: Value, to: &str) -> Value {
    let from = version_of(&object).to_owned();
    if from == to {
        return object;
    }
    let kept = take_kept(&mut object, to);
    let mut converted = plainly(kind, object.clone(), to);
    for (path, Kept { was, is }) in kept {
        if member(&converted, &path) == was {
            set_member(&mut converted, &path, is);
        }
    }
    let back = plainly(kind, converted.clone(), &from);
    keep(&mut converted, &from, &object, &back);
    converted
}

/// The version in an object's `apiVersion`.
fn version_of(object: &Value) -> &str {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    api_version.rsplit('/').next().unwrap_or_default()
}

/// Converts without annotations.
fn plainly(kind: Kind, mut object: Value, to: &str) -> Value {
    let namespace = object["metadata"]["namespace"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    for name in SECTIONS {
        if let Some(Value::Object(section)) = object.get_mut(name) {
            *section = kind.section(name)(std::mem::take(section), &namespace, to);
        }
    }
    if let Some(api_version) = object["apiVersion"].as_str() {
        let group = api_version.split('/').next().unwrap_or_default();
        object["apiVersion"] = format!("{group}/{to}").into();
    }
    object
}

/// A member that another version cannot hold.
struct Kept {
    /// Its value in that other version, converted back; null: none.
    was: Value,
    /// Its value.
    is: Value,
}

/// Removes the annotation with what only `version` holds: by path (`spec.topology`).
fn take_kept(object: &mut Value, version: &str) -> Vec<(String, Kept)> {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return Vec::new();
    };
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else {
        return Vec::new();
    };
    let text = annotations.remove(&format!("{KEPT}{version}"));
    if annotations.is_empty() && text.is_some() {
        metadata.remove("annotations");
    }
    let text = text.and_then(|text| serde_json::from_str(text.as_str()?).ok());
    let kept: Map<String, Value> = text.unwrap_or_default();
    kept.into_iter()
        .map(|(path, kept)| {
            let part = |name: &str| kept.get(name).cloned().unwrap_or_default();
            let (was, is) = (part("was"), part("is"));
            (path, Kept { was, is })
        })
        .collect()
}

/// Annotates `converted` with the members of `object`, of version `from`, that differ after the conversion `back`.
fn keep(converted: &mut Value, from: &str, object: &Value, back: &Value) {
    let mut kept = Map::new();
    for section in SECTIONS {
        let names = |object: &Value| -> Vec<String> {
            let members = object[section].as_object().into_iter().flatten();
            members.map(|(name, _)| name.clone()).collect()
        };
        for name in names(object).into_iter().chain(names(back)) {
            let path = format!("{section}.{name}");
            let (is, was) = (member(object, &path), member(back, &path));
            if is != was {
                kept.insert(path, json!({"was": was, "is": is}));
            }
        }
    }
    if kept.is_empty() || !converted["metadata"].is_object() {
        return;
    }
    let annotations = &mut converted["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = json!({});
    }
    annotations[format!("{KEPT}{from}")] = Value::Object(kept).to_string().into();
}

/// A member of a section; null if it is missing.
fn member(object: &Value, path: &str) -> Value {
    let (section, name) = path.split_once('.').unwrap_or((path, ""));
    object[section][name].clone()
}

/// Sets a member of a section that is there; null removes it.
fn set_member(object: &mut Value, path: &str, value: Value) {
    let (section, name) = path.split_once('.').unwrap_or((path, ""));
    let Some(Value::Object(members)) = object.get_mut(section) else {
        return;
    };
    match value {
        Value::Null => members.remove(name),
        value => members.insert(name.to_owned(), value),
    };
}

#[cfg(test)]
mod tests;
