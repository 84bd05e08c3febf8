//! Strategic merge patches: lists of built-in kinds are merged by key. Source:
//! `k8s.io/apimachinery/pkg/util/strategicpatch`.

use serde_json::{Map, Value};

use crate::schema::Schema;

/// A patch that cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StrategicPatchError {
    #[error("$patch: {0:?} is not known: merge, replace or delete is expected")]
    Directive(String),
    /// An element lacks this member.
    #[error("an element of the patch has no {0}, by which the list is merged")]
    NoKey(String),
}

/// Applies a patch to an object.
///
/// # Errors
/// [`StrategicPatchError`]
pub fn merged(schema: &Schema, object: &Value, patch: &Value) -> Result<Value, StrategicPatchError> {
    let (Value::Object(object), Value::Object(patch)) = (object, patch) else {
        return Ok(patch.clone());
    };
    merge_objects(schema, object, patch).map(Value::Object)
}

fn merge_objects(
    schema: &Schema,
    object: &Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<Map<String, Value>, StrategicPatchError> {
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            let mut new = patch.clone();
            new.remove("$patch");
            return Ok(new);
        }
        Some("delete") => return Ok(Map::new()),
        Some("merge") | None => {}
        Some(other) => return Err(StrategicPatchError::Directive(other.to_owned())),
    }
    let mut out = object.clone();
    if let Some(kept) = patch.get("$retainKeys").and_then(Value::as_array) {
        out.retain(|name, _| kept.iter().any(|kept| kept == name));
    }
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            if let (Some(Value::Array(elements)), Some(gone)) = (out.get_mut(list), value.as_array()) {
                elements.retain(|element| !gone.contains(element));
            }
            continue;
        }
        if name.starts_with('$') {
            continue;
        }
        if value.is_null() {
            out.remove(name);
            continue;
        }
        let child = schema.member(name);
        let new = match (out.get(name), value) {
            (Some(Value::Object(existing)), Value::Object(value)) => {
                let anything = Schema::anything();
                Value::Object(merge_objects(
                    child.map_or(&anything, |child| child),
                    existing,
                    value,
                )?)
            }
            (existing, Value::Array(elements)) => {
                let existing = existing
                    .and_then(Value::as_array)
                    .map(Vec::as_slice)
                    .unwrap_or_default();
                Value::Array(merge_lists(child.map(|child| &**child), existing, elements)?)
            }
            (None, Value::Object(value)) => {
                let anything = Schema::anything();
                Value::Object(merge_objects(
                    child.map_or(&anything, |child| child),
                    &Map::new(),
                    value,
                )?)
            }
            (_, value) => value.clone(),
        };
        out.insert(name.clone(), new);
    }
    Ok(out)
}

fn merge_lists(
    schema: Option<&Schema>,
    existing: &[Value],
    patch: &[Value],
) -> Result<Vec<Value>, StrategicPatchError> {
    let directive = |element: &Value| element.get("$patch").and_then(Value::as_str).map(str::to_owned);
    let plain = || {
        patch
            .iter()
            .filter(|element| directive(element).is_none())
            .cloned()
    };
    let Some(schema) = schema.filter(|schema| schema.patch_merges) else {
        return Ok(plain().collect());
    };
    if patch
        .iter()
        .any(|element| directive(element).as_deref() == Some("replace"))
    {
        return Ok(plain().collect());
    }
    let mut out = existing.to_vec();
    let Some(key) = &schema.patch_merge_key else {
        for element in plain() {
            if !out.contains(&element) {
                out.push(element);
            }
        }
        return Ok(out);
    };
    for element in patch {
        let identity = element
            .get(key)
            .ok_or_else(|| StrategicPatchError::NoKey(key.clone()))?;
        let index = out
            .iter()
            .position(|existing| existing.get(key) == Some(identity));
        if directive(element).as_deref() == Some("delete") {
            out.retain(|existing| existing.get(key) != Some(identity));
            continue;
        }
        let anything = Schema::anything();
        let items = schema.items.as_deref().unwrap_or(&anything);
        match index {
            Some(index) => out[index] = merged(items, &out[index], element)?,
            None => out.push(element.clone()),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_with_a_key_are_merged_and_directives_are_followed() {
        let schema = crate::resources::builtin::schema("io.k8s.api.core.v1.Node");
        let node = json!({"metadata": {"labels": {"a": "1", "b": "2"}, "finalizers": ["x"]},
            "spec": {"podCIDRs": ["c"], "taints": [{"key": "k", "effect": "NoSchedule"}]},
            "status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Disk", "status": "True"}]}});
        let patch = json!({"metadata": {"labels": {"a": null, "c": "3"}, "finalizers": ["y"]}, "spec": {"taints": [{"key": "l", "effect": "E"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Disk", "$patch": "delete"}]}});
        assert_eq!(
            merged(&schema, &node, &patch).unwrap(),
            json!({"metadata": {"labels": {"b": "2", "c": "3"}, "finalizers": ["x", "y"]},
                "spec": {"podCIDRs": ["c"], "taints": [{"key": "l", "effect": "E"}]},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        );
        let replaced = merged(
            &schema,
            &node,
            &json!({"metadata": {"labels": {"$patch": "replace", "z": "1"}}}),
        )
        .unwrap();
        assert_eq!(replaced["metadata"]["labels"], json!({"z": "1"}));
        let fewer = merged(
            &schema,
            &node,
            &json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}}),
        )
        .unwrap();
        assert_eq!(fewer["metadata"]["finalizers"], json!([]));
    }
}
