//! Evaluates the rules for an object.

use std::sync::Arc;

use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{Context, IdedExpr, Value as Cel};
use serde_json::Value;

use super::library::FUNCTIONS;
use super::rules::{Node, Rule};
use super::values;
use crate::error::{FieldError, type_name};
use crate::schema::structural::{ListType, Schema};

/// A value, the previous one, and their path.
struct Place<'a> {
    value: &'a Value,
    old: Option<&'a Value>,
    path: String,
}

/// The rules that an object breaks. `old` is the object that it replaces.
pub fn errors(schema: &Schema, node: &Node, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let root = Place {
        value: object,
        old,
        path: String::new(),
    };
    walk(schema, node, &root, &mut errors);
    errors
}

fn walk(schema: &Schema, node: &Node, place: &Place<'_>, errors: &mut Vec<FieldError>) {
    if place.value.is_null() {
        return;
    }
    if !node.rules.is_empty() {
        evaluate(schema, node, place, errors);
    }
    match place.value {
        Value::Object(members) => {
            for (name, value) in members {
                let child = node.properties.get(name).or(node.additional.as_deref());
                if let (Some(child), Some(schema)) = (child, schema.member(name)) {
                    let place = Place {
                        value,
                        old: place.old.and_then(|old| old.get(name)),
                        path: joined(&place.path, name),
                    };
                    walk(schema, child, &place, errors);
                }
            }
        }
        Value::Array(elements) => {
            let (Some(child), Some(items)) = (&node.items, &schema.items) else {
                return;
            };
            for (index, value) in elements.iter().enumerate() {
                let place = Place {
                    value,
                    old: place
                        .old
                        .and_then(|old| counterpart(&schema.list_type, old, value)),
                    path: format!("{}[{index}]", place.path),
                };
                walk(items, child, &place, errors);
            }
        }
        _ => {}
    }
}

/// The previous element with the same keys.
fn counterpart<'a>(list: &ListType, old: &'a Value, element: &Value) -> Option<&'a Value> {
    let ListType::Map(keys) = list else {
        return None;
    };
    let mut before = old.as_array()?.iter();
    before.find(|before| keys.iter().all(|key| before.get(key) == element.get(key)))
}

fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

fn evaluate(schema: &Schema, node: &Node, place: &Place<'_>, errors: &mut Vec<FieldError>) {
    let own = values::of(Some(schema), place.value);
    let old = place.old.map(|old| values::of(Some(schema), old));
    for rule in &node.rules {
        let is_optional = rule.document.optional_old_self == Some(true);
        if rule.is_transition && old.is_none() && !is_optional {
            continue;
        }
        let old = match (&old, is_optional) {
            (Some(old), true) => Some(optional(OptionalValue::of(old.clone()))),
            (None, true) => Some(optional(OptionalValue::none())),
            (old, false) => old.clone(),
        };
        let broken = FUNCTIONS.with(|functions| {
            let mut context = functions.new_inner_scope();
            context.add_variable_from_value("self", own.clone());
            if let Some(old) = old {
                context.add_variable_from_value("oldSelf", old);
            }
            why_broken(rule, &context)
        });
        if let Some(message) = broken {
            errors.push(error(rule, &message, place));
        }
    }
}

fn optional(value: OptionalValue) -> Cel {
    Cel::Opaque(Arc::new(value))
}

/// The message of a rule that is broken.
fn why_broken(rule: &Rule, context: &Context<'_>) -> Option<String> {
    let source = &rule.document.rule;
    let program = match &rule.program {
        Ok(program) => program,
        Err(error) => return Some(format!("the rule {source:?} cannot be evaluated: {error}")),
    };
    match context.resolve(program) {
        Ok(Cel::Bool(true)) => None,
        Ok(Cel::Bool(false)) => {
            let made = rule
                .message
                .as_ref()
                .and_then(|message| made_message(message, context));
            let given = rule.document.message.clone();
            Some(made.or(given).unwrap_or_else(|| format!("failed rule: {source}")))
        }
        Ok(_) => Some(format!("the rule {source:?} did not evaluate to a bool")),
        Err(error) => Some(format!(
            "rule evaluation error: {error} evaluating rule: {source}"
        )),
    }
}

/// The message if it is one line that is not empty; otherwise the other message is shown.
fn made_message(message: &IdedExpr, context: &Context<'_>) -> Option<String> {
    match context.resolve(message) {
        Ok(Cel::String(text)) if !text.trim().is_empty() && !text.contains('\n') => Some(text.to_string()),
        _ => None,
    }
}

fn error(rule: &Rule, message: &str, place: &Place<'_>) -> FieldError {
    let below = rule.document.field_path.as_deref().unwrap_or_default().trim();
    let field = format!("{}{below}", place.path);
    let field = field.trim_start_matches('.');
    // Objects and arrays are not repeated in messages.
    let value = match place.value {
        Value::Object(_) | Value::Array(_) => Value::from(type_name(place.value)),
        scalar => scalar.clone(),
    };
    match rule.document.reason.as_deref() {
        Some("FieldValueForbidden") => FieldError::forbidden(field, message),
        Some("FieldValueRequired") => FieldError::required(field, message),
        Some("FieldValueDuplicate") => FieldError::duplicate(field, &value),
        _ => FieldError::invalid(field, &value, message),
    }
}
