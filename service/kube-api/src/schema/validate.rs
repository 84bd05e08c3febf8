//! Validates objects, with the messages of a Kubernetes API server.

use serde_json::Value;

use super::cel;
use super::cost::{self, TooCostly};
use super::format;
use super::structural::{ListType, Schema, Type};
use crate::error::{FieldError, type_name};
use crate::object::MAX_WHOLE_FLOAT;

/// Validates an object. In an update (`old`) violations that existed before and were not touched are ignored,
/// and CEL transition rules compare with `old`.
pub fn validate(schema: &Schema, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, object, "", &mut errors);
    if let (false, Some(old)) = (errors.is_empty(), old) {
        let mut before = Vec::new();
        walk(schema, old, "", &mut before);
        errors.retain(|error| {
            !(before.contains(error) && at_path(object, &error.field) == at_path(old, &error.field))
        });
    }
    if let Some(rules) = &schema.cel {
        if errors.is_empty() {
            errors = match cost::for_object(rules, object, old) {
                None => cel::errors(schema, rules, object, old),
                Some(found) => vec![out_of_budget(&found)],
            };
        } else {
            // CEL rules rely on values of the declared types.
            errors.push(FieldError {
                field: "<nil>".into(),
                reason: "FieldValueInvalid",
                message: "Invalid value: null: some validation rules were not checked because the object was invalid; correct \
                          the existing errors to complete validation"
                    .into(),
            });
        }
    }
    errors
}

fn out_of_budget(found: &TooCostly) -> FieldError {
    let detail = "validation failed due to running out of cost budget, no further validation rules will be run: lists and maps of this \
                  size make the rules of the schema too costly";
    FieldError::invalid(found.path.trim_start_matches('.'), &Value::Null, detail)
}

/// The value at a path as errors write it.
fn at_path<'a>(root: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = root;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let (name, indexes) = part.split_once('[').unwrap_or((part, ""));
        if !name.is_empty() {
            value = value.get(name)?;
        }
        for index in indexes.split('[').filter(|index| !index.is_empty()) {
            let index = index.trim_end_matches(']');
            value = match index.parse::<usize>() {
                Ok(index) => value.get(index)?,
                Err(_) => value.get(index)?,
            };
        }
    }
    Some(value)
}

fn walk(schema: &Schema, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if value.is_null() {
        if !schema.nullable && (schema.kind.is_some() || schema.int_or_string) {
            let expected = schema.kind.map_or("integer or string", Type::name);
            errors.push(wrong_type(path, value, expected));
        }
        return;
    }
    if schema.int_or_string && !(value.is_i64() || value.is_u64() || value.is_string()) {
        errors.push(wrong_type(path, value, "integer,string"));
        return;
    }
    if let Some(kind) = schema.kind
        && !has_type(kind, value)
    {
        errors.push(wrong_type(path, value, kind.name()));
        return;
    }
    let rules = &schema.rules;
    if !rules.allowed.is_empty() && !rules.allowed.contains(value) {
        errors.push(FieldError::unsupported(path, value, &rules.allowed));
    }
    match value {
        Value::Object(members) => object_rules(schema, value, members, path, errors),
        Value::Array(elements) => array_rules(schema, elements, path, errors),
        Value::String(text) => string_rules(schema, text, value, path, errors),
        Value::Number(_) => number_rules(schema, value, path, errors),
        Value::Bool(_) | Value::Null => {}
    }
    combinations(schema, value, path, errors);
}

fn wrong_type(path: &str, value: &Value, expected: &str) -> FieldError {
    let shown = type_name(value);
    FieldError::wrong_type(
        path,
        value,
        format!("{path} in body must be of type {expected}: {shown:?}"),
    )
}

fn has_type(kind: Type, value: &Value) -> bool {
    match kind {
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        Type::String => value.is_string(),
        Type::Boolean => value.is_boolean(),
        Type::Number => value.is_number(),
        // What does not fit into 64 bits with a sign is no integer to a Go server.
        Type::Integer => {
            let whole = |number: f64| number.fract() == 0.0 && number.abs() <= MAX_WHOLE_FLOAT;
            value.is_i64() || value.as_f64().is_some_and(whole)
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

fn object_rules(
    schema: &Schema,
    value: &Value,
    members: &serde_json::Map<String, Value>,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    for name in &schema.required {
        if !members.contains_key(name) {
            errors.push(FieldError::required(joined(path, name), ""));
        }
    }
    let rules = &schema.rules;
    if let Some(least) = rules.min_properties.filter(|least| members.len() < *least) {
        errors.push(FieldError::invalid(
            path,
            value,
            format!("{path} in body should have at least {least} properties"),
        ));
    }
    if let Some(most) = rules.max_properties.filter(|most| members.len() > *most) {
        errors.push(FieldError::too_many(path, members.len(), most));
    }
    for (name, member) in members {
        if let Some(child) = schema.member(name) {
            walk(child, member, &joined(path, name), errors);
        }
    }
}

fn array_rules(schema: &Schema, elements: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    let rules = &schema.rules;
    if let Some(least) = rules.min_items.filter(|least| elements.len() < *least) {
        let detail = format!("{path} in body should have at least {least} items");
        errors.push(FieldError::invalid(path, &Value::from(elements.len()), detail));
    }
    if let Some(most) = rules.max_items.filter(|most| elements.len() > *most) {
        errors.push(FieldError::too_many(path, elements.len(), most));
    }
    let mut seen: Vec<Value> = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let identity = match &schema.list_type {
            ListType::Map(keys) => {
                let members = keys
                    .iter()
                    .filter_map(|key| Some((key.clone(), element.get(key)?.clone())));
                Some(members.collect::<Value>())
            }
            ListType::Set => Some(element.clone()),
            ListType::Atomic => rules.unique_items.then(|| element.clone()),
        };
        if let Some(identity) = identity {
            if seen.contains(&identity) {
                errors.push(FieldError::duplicate(path.as_str(), &identity));
            } else {
                seen.push(identity);
            }
        }
        if let Some(items) = &schema.items {
            walk(items, element, &path, errors);
        }
    }
}

fn string_rules(schema: &Schema, text: &str, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let rules = &schema.rules;
    let length = text.chars().count();
    if let Some(least) = rules.min_length.filter(|least| length < *least) {
        let detail = format!("{path} in body should be at least {least} chars long");
        errors.push(FieldError::invalid(path, value, detail));
    }
    if let Some(most) = rules.max_length.filter(|most| length > *most) {
        errors.push(FieldError::too_long(path, most));
    }
    if let Some((source, pattern)) = &rules.pattern
        && !pattern.is_match(text)
    {
        errors.push(FieldError::invalid(
            path,
            value,
            format!("{path} in body should match '{source}'"),
        ));
    }
    if let Some(format) = rules.format.as_deref()
        && !format::fits(format, text)
    {
        errors.push(FieldError::invalid(
            path,
            value,
            format!("{path} in body must be of type {format}: {text:?}"),
        ));
    }
}

fn number_rules(schema: &Schema, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let rules = &schema.rules;
    let number = value.as_f64().unwrap_or_default();
    if let Some((least, exclusive)) = rules.minimum
        && (number < least || (exclusive && number == least))
    {
        let relation = if exclusive {
            "greater than"
        } else {
            "greater than or equal to"
        };
        errors.push(FieldError::invalid(
            path,
            value,
            format!("{path} in body should be {relation} {least}"),
        ));
    }
    if let Some((most, exclusive)) = rules.maximum
        && (number > most || (exclusive && number == most))
    {
        let relation = if exclusive {
            "less than"
        } else {
            "less than or equal to"
        };
        errors.push(FieldError::invalid(
            path,
            value,
            format!("{path} in body should be {relation} {most}"),
        ));
    }
    if let Some(step) = rules
        .multiple_of
        .filter(|step| *step > 0.0 && (number / step).fract() != 0.0)
    {
        errors.push(FieldError::invalid(
            path,
            value,
            format!("{path} in body should be a multiple of {step}"),
        ));
    }
    let fits = match rules.format.as_deref() {
        Some("int32") => value.as_i64().is_none_or(|number| i32::try_from(number).is_ok()),
        Some("int64") => value.is_f64() || value.as_i64().is_some(),
        _ => true,
    };
    if !fits {
        let format = rules.format.as_deref().unwrap_or_default();
        errors.push(FieldError::invalid(
            path,
            value,
            format!("{path} in body must be of type {format}"),
        ));
    }
}

fn combinations(schema: &Schema, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let rules = &schema.rules;
    for each in &rules.all_of {
        walk(each, value, path, errors);
    }
    let fulfilled = |schema: &Schema| {
        let mut errors = Vec::new();
        walk(schema, value, path, &mut errors);
        errors.is_empty()
    };
    let shown = if value.is_object() || value.is_array() {
        Value::from(type_name(value))
    } else {
        value.clone()
    };
    if !rules.any_of.is_empty() && !rules.any_of.iter().any(fulfilled) {
        let detail = format!("{path} in body must validate at least one schema (anyOf)");
        errors.push(FieldError::invalid(path, &shown, detail));
    }
    if !rules.one_of.is_empty() {
        let count = rules.one_of.iter().filter(|schema| fulfilled(schema)).count();
        if count != 1 {
            let detail = format!(
                "{path} in body must validate one and only one schema (oneOf). Listed {count} valid alternatives"
            );
            errors.push(FieldError::invalid(path, &shown, detail));
        }
    }
    if rules.not.as_deref().is_some_and(fulfilled) {
        let detail = format!("{path} in body must not validate the schema (not)");
        errors.push(FieldError::invalid(path, &shown, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        Schema::of_crd(&json!({"type": "object", "properties": {"spec": {
            "type": "object",
            "required": ["role"],
            "x-kubernetes-validations": [
                {"rule": "!has(self.low) || !has(self.high) || self.low <= self.high", "message": "low may not be above high"},
                {"rule": "self.fixed == oldSelf.fixed", "message": "fixed may not change"},
            ],
            "properties": {
                "role": {"type": "string", "enum": ["a", "b"]},
                "mac": {"type": "string", "pattern": "^[0-9a-f:]+$"},
                "low": {"type": "integer"}, "high": {"type": "integer"},
                "fixed": {"type": "string"},
                "port": {"x-kubernetes-int-or-string": true},
                "list": {"type": "array", "maxItems": 2, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
                    "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}}}},
            },
        }}}))
        .unwrap()
    }

    fn errors(new: Value, old: Option<Value>) -> Vec<String> {
        let wrap = |spec: Value| json!({"spec": spec});
        let found = validate(&schema(), &wrap(new), old.map(wrap).as_ref());
        found
            .iter()
            .filter(|error| error.field != "<nil>")
            .map(FieldError::to_string)
            .collect()
    }

    #[test]
    fn each_broken_rule_is_told_with_its_path() {
        assert_eq!(
            errors(json!({"role": "a", "fixed": "", "port": "http"}), None),
            Vec::<String>::new()
        );
        assert_eq!(errors(json!({}), None), ["spec.role: Required value"]);
        assert_eq!(
            errors(json!({"role": "c", "mac": "x"}), None),
            [
                r#"spec.mac: Invalid value: "x": spec.mac in body should match '^[0-9a-f:]+$'"#,
                r#"spec.role: Unsupported value: "c": supported values: "a", "b""#
            ]
        );
        assert_eq!(
            errors(json!({"role": true}), None),
            [r#"spec.role: Invalid value: "boolean": spec.role in body must be of type string: "boolean""#]
        );
        assert_eq!(
            errors(json!({"role": "a", "list": [{"n": "x"}, {"n": "x"}, {}]}), None),
            [
                "spec.list: Too many: 3: must have at most 2 items",
                r#"spec.list[1]: Duplicate value: {"n":"x"}"#,
                "spec.list[2].n: Required value"
            ]
        );
    }

    #[test]
    fn rules_in_cel_are_kept_and_may_compare_with_the_old_object() {
        let low = errors(json!({"role": "a", "low": 3, "high": 2, "fixed": "x"}), None);
        assert_eq!(low.len(), 1, "{low:?}");
        assert!(
            low[0].starts_with("spec: Invalid value:") && low[0].ends_with("low may not be above high"),
            "{low:?}"
        );
        let changed = errors(
            json!({"role": "a", "fixed": "y"}),
            Some(json!({"role": "a", "fixed": "x"})),
        );
        assert!(changed[0].ends_with("fixed may not change"), "{changed:?}");
    }

    #[test]
    fn what_was_wrong_before_and_is_not_touched_passes() {
        let old = json!({"role": "gone", "fixed": "x"});
        assert_eq!(
            errors(json!({"role": "gone", "fixed": "x", "low": 1}), Some(old.clone())),
            Vec::<String>::new()
        );
        assert_eq!(errors(json!({"role": "other", "fixed": "x"}), Some(old)).len(), 1);
    }
}
