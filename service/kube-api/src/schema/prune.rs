//! Drops members that the schema does not declare.

use serde_json::Value;

use super::structural::{Schema, Type};

/// Drops unknown members below `value` and returns their paths. At the root of an object, and of embedded
/// ones, `apiVersion`, `kind` and `metadata` are always kept.
pub fn prune(schema: &Schema, value: &mut Value, is_object_root: bool) -> Vec<String> {
    let mut unknown = Vec::new();
    walk(schema, value, is_object_root, &mut Vec::new(), &mut unknown);
    unknown
}

fn walk(
    schema: &Schema,
    value: &mut Value,
    is_root: bool,
    path: &mut Vec<String>,
    unknown: &mut Vec<String>,
) {
    match value {
        Value::Object(members) => {
            let is_root = is_root || schema.embedded_resource;
            let keeps_all = schema.preserve_unknown
                || (schema.kind.is_none() && schema.properties.is_empty() && schema.additional.is_none());
            members.retain(|name, member| {
                let is_always_known = is_root && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
                if is_always_known && !schema.properties.contains_key(name) {
                    return true;
                }
                path.push(name.clone());
                let known = match schema.member(name) {
                    Some(schema) => {
                        walk(schema, member, false, path, unknown);
                        true
                    }
                    None => keeps_all,
                };
                if !known {
                    unknown.push(shown(path));
                }
                path.pop();
                known
            });
        }
        Value::Array(elements) => {
            let Some(items) = &schema.items else { return };
            for (index, element) in elements.iter_mut().enumerate() {
                path.push(format!("[{index}]"));
                walk(items, element, false, path, unknown);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Treats `null` as a value that is not set, as Go does where it decodes into a type: the member is dropped; in a map of texts it becomes
/// an empty text.
pub fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, member| {
                if !member.is_null() {
                    if let Some(schema) = schema.member(name) {
                        drop_nulls(schema, member);
                    }
                    return true;
                }
                if schema.properties.contains_key(name) {
                    return false;
                }
                match &schema.additional {
                    Some(texts) if texts.kind == Some(Type::String) => {
                        *member = Value::String(String::new());
                        true
                    }
                    Some(_) => false,
                    None => true,
                }
            });
        }
        Value::Array(elements) => {
            if let Some(items) = &schema.items {
                elements.iter_mut().for_each(|element| drop_nulls(items, element));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `spec.items[0].name`
fn shown(path: &[String]) -> String {
    let mut text = String::new();
    for part in path {
        if !text.is_empty() && !part.starts_with('[') {
            text.push('.');
        }
        text.push_str(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_null_is_a_value_that_is_not_set_unless_nobody_knows_its_type() {
        let schema = Schema::of_crd(&json!({"type": "object", "properties": {
            "data": {"type": "object", "additionalProperties": {"type": "string"}},
            "times": {"type": "array", "items": {"type": "object", "properties": {"at": {"type": "string"}}}},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "gone": {"type": "object"},
        }}))
        .unwrap();
        let mut object = json!({"data": {"a": null, "b": "c"}, "times": [{"at": null}], "open": {"x": null}, "gone": null});
        drop_nulls(&schema, &mut object);
        assert_eq!(
            object,
            json!({"data": {"a": "", "b": "c"}, "times": [{}], "open": {"x": null}})
        );
    }

    #[test]
    fn unknown_members_go_and_are_named_while_open_parts_keep_theirs() {
        let schema = Schema::of_crd(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"closed": {"type": "object"}}},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
            }},
        }}))
        .unwrap();
        let mut object = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "x"}, "top": 1, "spec": {
            "list": [{"a": "1", "b": 2}], "open": {"x": {"y": 1}, "closed": {"z": 1}}, "map": {"k": "v"}, "more": {},
        }});
        let mut unknown = prune(&schema, &mut object, true);
        unknown.sort();
        assert_eq!(
            unknown,
            ["spec.list[0].b", "spec.more", "spec.open.closed.z", "top"]
        );
        assert_eq!(
            object,
            json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "x"}, "spec": {
                "list": [{"a": "1"}], "open": {"x": {"y": 1}, "closed": {}}, "map": {"k": "v"},
            }})
        );
    }
}
