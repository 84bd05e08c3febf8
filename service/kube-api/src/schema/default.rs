//! Fills in defaults of the schema for members that are absent, or null where null is not allowed.

use serde_json::Value;

use super::structural::Schema;
use crate::object;

/// Bytes of JSON that defaults may add to an object: no object may be larger.
const MOST_ADDED: usize = 3 << 20;

/// Defaults would add more to an object than an object may have: a large default in every element of a long list.
#[derive(Debug, PartialEq, Eq)]
pub struct DefaultsTooLarge;

/// Fills in defaults below `value`. A null that the schema does not allow is replaced by the default, or
/// dropped without one.
///
/// # Errors
/// If they add more than 3 MiB. Then only some are filled in.
pub fn apply_defaults(schema: &Schema, value: &mut Value) -> Result<(), DefaultsTooLarge> {
    let mut left = MOST_ADDED;
    fill(schema, value, &mut left)
}

/// Fills in the zero values of required members, as Go does where it decodes into a type and writes it again: what a client left out
/// for being empty is there. With `texts` texts, too: not where an empty one is refused.
pub fn fill_zeros(schema: &Schema, value: &mut Value, texts: bool) {
    match value {
        Value::Object(members) => {
            for name in &schema.required {
                let zero = schema
                    .properties
                    .get(name)
                    .and_then(|child| child.default.as_ref());
                let zero =
                    zero.filter(|zero| zero.is_number() || zero.is_boolean() || (texts && zero.is_string()));
                if let (false, Some(zero)) = (members.contains_key(name), zero) {
                    members.insert(name.clone(), zero.clone());
                }
            }
            for (name, member) in members {
                if let Some(child) = schema.member(name) {
                    fill_zeros(child, member, texts);
                }
            }
        }
        Value::Array(elements) => {
            for element in elements {
                if let Some(items) = &schema.items {
                    fill_zeros(items, element, texts);
                }
            }
        }
        _ => {}
    }
}

fn fill(schema: &Schema, value: &mut Value, left: &mut usize) -> Result<(), DefaultsTooLarge> {
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
                    let added = name.len() + object::json_length(default);
                    *left = left.checked_sub(added).ok_or(DefaultsTooLarge)?;
                    members.insert(name.clone(), default.clone());
                }
            }
            let is_forbidden_null = |name: &str, member: &Value| {
                let child = schema.member(name);
                member.is_null() && child.is_some_and(|child| !child.nullable && child.kind.is_some())
            };
            members.retain(|name, member| !is_forbidden_null(name, member));
            for (name, member) in members {
                if let Some(child) = schema.member(name) {
                    fill(child, member, left)?;
                }
            }
        }
        Value::Array(elements) => {
            let Some(items) = &schema.items else { return Ok(()) };
            for element in elements {
                fill(items, element, left)?;
            }
        }
        _ => {}
    }
    Ok(())
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
        apply_defaults(&schema, &mut value).unwrap();
        assert_eq!(
            value,
            json!({"a": "x", "b": {"c": 3}, "e": null, "f": [{"g": true}]})
        );
    }
    #[test]
    fn defaults_that_would_fill_the_memory_are_refused() {
        let schema = Schema::of_crd(&json!({"type": "object", "properties": {
            "l": {"type": "array", "items": {"type": "object", "properties": {
                "d": {"type": "string", "default": "x".repeat(100_000)},
            }}},
        }}))
        .unwrap();
        let of = |count: usize| json!({"l": vec![json!({}); count]});
        assert_eq!(apply_defaults(&schema, &mut of(30)), Ok(()));
        assert_eq!(apply_defaults(&schema, &mut of(20_000)), Err(DefaultsTooLarge));
    }
}
