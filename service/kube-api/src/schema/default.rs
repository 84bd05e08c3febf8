//! Fills in defaults of the schema for members that are absent, or null where null is not allowed.

use serde_json::Value;

use super::structural::Schema;

/// Fills in defaults below `value`. A null that the schema does not allow is replaced by the default, or
/// dropped without one.
pub fn apply_defaults(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, child) in &schema.properties {
                let existing = members.get(name);
                let is_missing = match existing {
                    None => true,
                    Some(Value::Null) => !child.nullable && child.default.is_some(),
                    Some(_) => false,
                };
                if let (true, Some(default)) = (is_missing, &child.default) {
                    members.insert(name.clone(), default.clone());
                }
            }
            members.retain(|name, member| {
                let Some(child) = schema.member(name) else {
                    return true;
                };
                if member.is_null() && !child.nullable && child.kind.is_some() {
                    return false;
                }
                apply_defaults(child, member);
                true
            });
        }
        Value::Array(elements) => {
            let Some(items) = &schema.items else { return };
            for element in elements {
                apply_defaults(items, element);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn absent_members_get_defaults_and_forbidden_nulls_go() {
        let schema = Schema::of_crd(&json!({"type": "object", "properties": {
            "a": {"type": "string", "default": "x"},
            "b": {"type": "object", "default": {}, "properties": {"c": {"type": "integer", "default": 3}}},
            "d": {"type": "string"},
            "e": {"type": "string", "nullable": true},
            "f": {"type": "array", "items": {"type": "object", "properties": {"g": {"type": "boolean", "default": true}}}},
        }}))
        .unwrap();
        let mut value = json!({"a": null, "d": null, "e": null, "f": [{}]});
        apply_defaults(&schema, &mut value);
        assert_eq!(
            value,
            json!({"a": "x", "b": {"c": 3}, "e": null, "f": [{"g": true}]})
        );
    }
}
