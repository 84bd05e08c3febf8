//! Compares and merges objects by their schema.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::set::{FieldSet, Step};
use crate::schema::{ListType, Schema};

static ANYTHING: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(Schema::anything()));

/// The parts into which the schema divides a value.
enum Parts<'a> {
    /// Indivisible (atomic).
    Whole,
    Members(&'a Map<String, Value>),
    /// Elements, each with its step.
    Elements(Vec<(Step, &'a Value)>),
}

fn parts<'a>(schema: &Schema, value: &'a Value) -> Parts<'a> {
    match value {
        Value::Object(members) if !schema.atomic_map => Parts::Members(members),
        Value::Array(elements) if schema.list_type != ListType::Atomic => Parts::Elements(
            elements
                .iter()
                .map(|element| (step_of(schema, element), element))
                .collect(),
        ),
        _ => Parts::Whole,
    }
}

fn step_of(schema: &Schema, element: &Value) -> Step {
    match &schema.list_type {
        ListType::Map(keys) => {
            let key_of = |key: &String| {
                let default = || schema.items.as_ref()?.properties.get(key)?.default.clone();
                Some((key.clone(), element.get(key).cloned().or_else(default)?))
            };
            // Sorted by name, as in every `fieldsV1`.
            let members: std::collections::BTreeMap<String, Value> = keys.iter().filter_map(key_of).collect();
            format!("k:{}", serde_json::to_string(&members).unwrap_or_default())
        }
        _ => format!("v:{element}"),
    }
}

fn member_schema<'a>(schema: &'a Schema, name: &str) -> &'a Arc<Schema> {
    schema.member(name).unwrap_or(&ANYTHING)
}

fn element_schema(schema: &Schema) -> &Arc<Schema> {
    schema.items.as_ref().unwrap_or(&ANYTHING)
}

pub fn fields_of(schema: &Schema, object: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    collect(schema, object, &mut Vec::new(), &mut set);
    set
}

fn collect(schema: &Schema, value: &Value, path: &mut Vec<Step>, set: &mut FieldSet) {
    match parts(schema, value) {
        Parts::Whole => set.insert(path),
        Parts::Members(members) => {
            for (name, member) in members {
                path.push(format!("f:{name}"));
                collect(member_schema(schema, name), member, path, set);
                let is_empty = member.is_null() || member.as_object().is_some_and(Map::is_empty);
                if is_empty || !schema.properties.contains_key(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        Parts::Elements(elements) => {
            for (step, element) in elements {
                path.push(step);
                collect(element_schema(schema), element, path, set);
                set.insert(path);
                path.pop();
            }
        }
    }
}

/// The fields in which two objects differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    pub added: FieldSet,
    pub modified: FieldSet,
    pub removed: FieldSet,
}

impl Comparison {
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }
}

/// Compares an object with its new version.
pub fn compare(schema: &Schema, old: &Value, new: &Value) -> Comparison {
    let mut comparison = Comparison::default();
    compare_values(schema, Some(old), Some(new), &mut Vec::new(), &mut comparison);
    comparison
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Array(elements)) => elements.is_empty(),
        Some(_) => false,
    }
}

fn compare_values(
    schema: &Schema,
    old: Option<&Value>,
    new: Option<&Value>,
    path: &mut Vec<Step>,
    out: &mut Comparison,
) {
    if old == new {
        return;
    }
    let has_content = !is_empty(old) || !is_empty(new);
    let old_parts = old.map(|old| parts(schema, old));
    let new_parts = new.map(|new| parts(schema, new));
    match (old_parts, new_parts) {
        (Some(Parts::Members(_)) | None, Some(Parts::Members(_)) | None) if has_content => {
            compare_members(schema, old, new, path, out);
            container_itself(old, new, path, out);
        }
        (old_parts @ (Some(Parts::Elements(_)) | None), new_parts @ (Some(Parts::Elements(_)) | None))
            if has_content =>
        {
            let elements = |parts| match parts {
                Some(Parts::Elements(elements)) => elements,
                _ => Vec::new(),
            };
            compare_elements(schema, &elements(old_parts), &elements(new_parts), path, out);
            container_itself(old, new, path, out);
        }
        _ => match (old, new) {
            (None, _) => out.added.insert(path),
            (_, None) => out.removed.insert(path),
            _ => out.modified.insert(path),
        },
    }
}

fn compare_members(
    schema: &Schema,
    old: Option<&Value>,
    new: Option<&Value>,
    path: &mut Vec<Step>,
    out: &mut Comparison,
) {
    let empty = Map::new();
    let old = old.and_then(Value::as_object).unwrap_or(&empty);
    let new = new.and_then(Value::as_object).unwrap_or(&empty);
    let only_new = new.keys().filter(|name| !old.contains_key(*name));
    for name in old.keys().chain(only_new) {
        path.push(format!("f:{name}"));
        compare_values(
            member_schema(schema, name),
            old.get(name),
            new.get(name),
            path,
            out,
        );
        path.pop();
    }
}

fn compare_elements(
    schema: &Schema,
    old: &[(Step, &Value)],
    new: &[(Step, &Value)],
    path: &mut Vec<Step>,
    out: &mut Comparison,
) {
    let find = |elements: &[(Step, &Value)], step: &str| elements.iter().position(|(each, _)| each == step);
    for (step, element) in old {
        let counterpart = find(new, step).map(|index| new[index].1);
        path.push(step.clone());
        compare_values(element_schema(schema), Some(element), counterpart, path, out);
        path.pop();
    }
    for (step, element) in new {
        if find(old, step).is_none() {
            path.push(step.clone());
            compare_values(element_schema(schema), None, Some(element), path, out);
            path.pop();
        }
    }
}

fn container_itself(old: Option<&Value>, new: Option<&Value>, path: &[Step], out: &mut Comparison) {
    if old.is_none() {
        out.added.insert(path);
    }
    if new.is_none() {
        out.removed.insert(path);
    }
}

/// Merges an applied configuration into an object.
pub fn merged(schema: &Schema, live: &Value, applied: &Value) -> Value {
    match (parts(schema, live), parts(schema, applied)) {
        (Parts::Members(live), Parts::Members(applied)) => {
            let mut out = live.clone();
            for (name, value) in applied {
                let value = match live.get(name) {
                    Some(existing) => merged(member_schema(schema, name), existing, value),
                    None => value.clone(),
                };
                out.insert(name.clone(), value);
            }
            Value::Object(out)
        }
        (Parts::Elements(live), Parts::Elements(mut applied)) => {
            let mut out = Vec::with_capacity(live.len() + applied.len());
            for (step, existing) in live {
                match applied.iter().position(|(each, _)| *each == step) {
                    Some(index) => {
                        let (_, value) = applied.remove(index);
                        out.push(merged(element_schema(schema), existing, value));
                    }
                    None => out.push(existing.clone()),
                }
            }
            out.extend(applied.into_iter().map(|(_, value)| value.clone()));
            Value::Array(out)
        }
        _ => applied.clone(),
    }
}

/// Removes fields. An object or list is removed only with all that it holds; objects that become empty are removed, too.
pub fn without(schema: &Schema, object: &Value, fields: &FieldSet) -> Value {
    match parts(schema, object) {
        Parts::Whole => object.clone(),
        Parts::Members(members) => {
            let kept = members.iter().filter_map(|(name, member)| {
                let step = format!("f:{name}");
                keep(member_schema(schema, name), &step, member, fields, &[])
                    .map(|member| (name.clone(), member))
            });
            Value::Object(kept.collect())
        }
        Parts::Elements(elements) => {
            let keys = match &schema.list_type {
                ListType::Map(keys) => keys.as_slice(),
                _ => &[],
            };
            let kept = elements
                .iter()
                .filter_map(|(step, element)| keep(element_schema(schema), step, element, fields, keys));
            Value::Array(kept.collect())
        }
    }
}

/// Removes fields of a value; `None` when nothing is left of it. `keys` are the members that identify an
/// element of a list: they are kept as long as the element is.
fn keep(schema: &Schema, step: &str, value: &Value, fields: &FieldSet, keys: &[String]) -> Option<Value> {
    let is_named = fields.contains(step);
    let is_whole = matches!(parts(schema, value), Parts::Whole);
    let Some(below) = fields.below(step).filter(|_| !is_whole) else {
        let goes = is_named && (is_whole || is_empty(Some(value)));
        return (!goes).then(|| value.clone());
    };
    let mut rest = without(schema, value, below);
    let mut others = rest.clone();
    for key in keys {
        if let (Some(rest), Some(original)) = (rest.as_object_mut(), value.get(key)) {
            rest.insert(key.clone(), original.clone());
        }
        if let Some(others) = others.as_object_mut() {
            others.remove(key);
        }
    }
    let goes = is_empty(Some(&others)) && (is_named || keys.is_empty()) && !is_empty(Some(value));
    (!goes).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        Schema::of_crd(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "named": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
                "items": {"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "integer"}}}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "plain": {"type": "array", "items": {"type": "string"}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
        }}}}))
        .unwrap()
    }

    #[test]
    fn lists_are_merged_where_the_schema_says_so() {
        let live = json!({"spec": {"named": [{"n": "a", "v": 1}, {"n": "b", "v": 2}], "set": ["x"], "plain": ["p"], "map": {"k": "1"}}});
        let applied = json!({"spec": {"named": [{"n": "b", "v": 3}, {"n": "c"}], "set": ["y", "x"], "plain": ["q"], "map": {"l": "2"}}});
        assert_eq!(
            merged(&schema(), &live, &applied),
            json!({"spec": {"named": [{"n": "a", "v": 1}, {"n": "b", "v": 3}, {"n": "c"}], "set": ["x", "y"], "plain": ["q"],
                "map": {"k": "1", "l": "2"}}})
        );
    }

    #[test]
    fn fields_and_differences_are_named_by_their_keys() {
        let object =
            json!({"spec": {"named": [{"n": "a", "v": 1}], "set": ["x"], "plain": ["p"], "map": {"k": "1"}}});
        assert_eq!(
            fields_of(&schema(), &object).to_json(),
            json!({"f:spec": {"f:named": {"k:{\"n\":\"a\"}": {".": {}, "f:n": {}, "f:v": {}}}, "f:set": {"v:\"x\"": {}},
                "f:plain": {}, "f:map": {"f:k": {}}}})
        );
        let new =
            json!({"spec": {"named": [{"n": "a", "v": 2}], "plain": ["q"], "map": {"k": "1", "l": "2"}}});
        let difference = compare(&schema(), &object, &new);
        assert_eq!(difference.added.shown(), [".spec.map.l"]);
        assert_eq!(
            difference.modified.shown(),
            [".spec.named[n=\"a\"].v", ".spec.plain"]
        );
        assert_eq!(difference.removed.shown(), [".spec.set", ".spec.set[=\"x\"]"]);
        assert!(compare(&schema(), &new, &new).is_same());
    }

    #[test]
    fn removed_fields_take_emptied_objects_with_them() {
        let object = json!({"spec": {"map": {"k": "1"}, "set": ["x", "y"], "plain": ["p"]}});
        let fields =
            FieldSet::from_json(&json!({"f:spec": {"f:map": {"f:k": {}}, "f:set": {"v:\"x\"": {}}}}));
        assert_eq!(
            without(&schema(), &object, &fields),
            json!({"spec": {"set": ["y"], "plain": ["p"]}})
        );
    }
}
