//! Parses and evaluates field selectors.

use serde_json::Value;

use crate::error::{ApiError, Result};
use crate::object;
use crate::resources::Resource;

/// Conditions on fields, all of which must hold.
#[derive(Debug, Clone, Default)]
pub struct FieldSelector(Vec<Term>);

#[derive(Debug, Clone)]
struct Term {
    field: String,
    value: String,
    equal: bool,
}

impl FieldSelector {
    /// Parses `metadata.name=a,spec.b!=c`; only fields that the resource offers for selection.
    ///
    /// # Errors
    /// 400 for anything else.
    pub fn parse(text: &str, resource: &Resource) -> Result<Self> {
        let mut terms = Vec::new();
        for part in split_unescaped(text).into_iter().filter(|part| !part.is_empty()) {
            let (field, value, equal) = if let Some((field, value)) = part.split_once("!=") {
                (field, value, false)
            } else if let Some((field, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
                (field, value, true)
            } else {
                return Err(ApiError::bad_request(format!(
                    "invalid field selector: {part:?}; can't understand it"
                )));
            };
            let field = field.trim();
            if !resource.selects_by(field) {
                return Err(ApiError::bad_request(format!(
                    "field label not supported: {field}"
                )));
            }
            terms.push(Term {
                field: field.to_owned(),
                value: value.replace('\\', ""),
                equal,
            });
        }
        Ok(Self(terms))
    }

    pub fn matches(&self, object: &Value, resource: &Resource) -> bool {
        self.0.iter().all(|term| {
            let value = match term.field.as_str() {
                "metadata.name" => object::name(object).to_owned(),
                "metadata.namespace" => object::namespace(object).to_owned(),
                field => resource.selectable_value(field, object),
            };
            (value == term.value) == term.equal
        })
    }

    /// The name that it requires, if it requires one.
    pub fn name(&self) -> Option<&str> {
        let term = self
            .0
            .iter()
            .find(|term| term.equal && term.field == "metadata.name")?;
        Some(&term.value)
    }

    /// True when it refers to more than name and namespace.
    pub fn needs_content(&self) -> bool {
        self.0
            .iter()
            .any(|term| !matches!(term.field.as_str(), "metadata.name" | "metadata.namespace"))
    }

    /// True when it matches everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Splits at commas that no backslash precedes.
fn split_unescaped(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut escaped) = (Vec::new(), 0, false);
    for (index, character) in text.char_indices() {
        if character == ',' && !escaped {
            parts.push(&text[start..index]);
            start = index + 1;
        }
        escaped = character == '\\' && !escaped;
    }
    parts.push(&text[start..]);
    parts
}
