//! Validates `metadata`: names, labels, annotations, owners, finalizers.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::error::FieldError;
use crate::object;

/// The form of object names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// RFC 1123 subdomain: most resources.
    Subdomain,
    /// RFC 1123 label: namespaces.
    Label,
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
     and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end \
     with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start \
     and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
     alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
/// Maximum size of all annotations of an object together, bytes.
const MAX_ANNOTATIONS: usize = 256 << 10;

fn regex(source: &str) -> Regex {
    Regex::new(source).expect("the expression is a constant that tests run")
}

static SUBDOMAIN_FORM: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"));
static QUALIFIED_FORM: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"));

/// Checks that a text is an RFC 1123 subdomain.
///
/// # Errors
/// The rule, as a message.
pub fn check_subdomain(text: &str) -> Result<(), &'static str> {
    if text.len() > 253 {
        return Err("must be no more than 253 bytes");
    }
    if SUBDOMAIN_FORM.is_match(text) {
        Ok(())
    } else {
        Err(SUBDOMAIN)
    }
}

fn check_label(text: &str) -> Result<(), &'static str> {
    if text.len() > 63 {
        return Err("must be no more than 63 bytes");
    }
    if SUBDOMAIN_FORM.is_match(text) && !text.contains('.') {
        Ok(())
    } else {
        Err(LABEL)
    }
}

/// Checks the name of a label or annotation.
///
/// # Errors
/// The rule, as a message.
pub fn check_label_name(text: &str) -> Result<(), &'static str> {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    if let Some(prefix) = prefix {
        check_subdomain(prefix)?;
    }
    if name.is_empty() {
        return Err("name part must be non-empty");
    }
    if name.len() > 63 {
        return Err("name part must be no more than 63 bytes");
    }
    if QUALIFIED_FORM.is_match(name) {
        Ok(())
    } else {
        Err(QUALIFIED)
    }
}

/// Checks the value of a label.
///
/// # Errors
/// The rule, as a message.
pub fn check_label_value(text: &str) -> Result<(), &'static str> {
    if text.len() > 63 {
        return Err("must be no more than 63 bytes");
    }
    if text.is_empty() || QUALIFIED_FORM.is_match(text) {
        Ok(())
    } else {
        Err(LABEL_VALUE)
    }
}

/// Validates an object's metadata on its own.
pub fn validate(object: &Value, rule: NameRule) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = object::name(object);
    let checked = match rule {
        NameRule::Subdomain => check_subdomain(name),
        NameRule::Label => check_label(name),
    };
    if name.is_empty() {
        errors.push(FieldError::required(
            "metadata.name",
            "name or generateName is required",
        ));
    } else if let Err(why) = checked {
        errors.push(FieldError::invalid("metadata.name", &name.into(), why));
    }
    for (label, value) in object::labels(object).into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        if let Err(why) = check_label_name(label) {
            errors.push(FieldError::invalid(
                "metadata.labels",
                &label.as_str().into(),
                why,
            ));
        }
        if let Err(why) = check_label_value(value) {
            errors.push(FieldError::invalid("metadata.labels", &value.into(), why));
        }
    }
    let annotations = object::metadata(object).and_then(|metadata| metadata.get("annotations")?.as_object());
    let mut size = 0;
    for (annotation, value) in annotations.into_iter().flatten() {
        size += annotation.len() + value.as_str().map_or(0, str::len);
        // Prefixes of annotations may have capital letters.
        if let Err(why) = check_label_name(&annotation.to_lowercase()) {
            errors.push(FieldError::invalid(
                "metadata.annotations",
                &annotation.as_str().into(),
                why,
            ));
        }
    }
    if size > MAX_ANNOTATIONS {
        errors.push(FieldError::too_long("metadata.annotations", MAX_ANNOTATIONS));
    }
    validate_owners(object, &mut errors);
    for (index, finalizer) in object::finalizers(object).into_iter().enumerate() {
        if let Err(why) = check_label_name(finalizer) {
            errors.push(FieldError::invalid(
                format!("metadata.finalizers[{index}]"),
                &finalizer.into(),
                why,
            ));
        }
    }
    errors
}

fn validate_owners(object: &Value, errors: &mut Vec<FieldError>) {
    let mut controller = None;
    for (index, owner) in object::owner_references(object).enumerate() {
        let path = format!("metadata.ownerReferences[{index}]");
        let text = |member: &str| owner.get(member).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
        if api_version.is_empty() || api_version.matches('/').count() > 1 {
            errors.push(FieldError::invalid(
                format!("{path}.apiVersion"),
                &api_version.into(),
                "version must not be empty",
            ));
        }
        for (member, value) in [("kind", kind), ("name", name), ("uid", text("uid"))] {
            let why = if value.is_empty() {
                format!("{member} must not be empty")
            } else if value.chars().any(char::is_control) {
                // The database accepts no NUL, and a failed write would fail the others of its transaction.
                format!("{member} must not contain control characters")
            } else {
                continue;
            };
            errors.push(FieldError::invalid(
                format!("{path}.{member}"),
                &value.into(),
                why,
            ));
        }
        let is_controller = owner.get("controller").and_then(Value::as_bool) == Some(true);
        if let Some(other) = is_controller.then(|| controller.replace(name)).flatten() {
            let detail = format!(
                "Only one reference can have Controller set to true. Listed \"true\" in references for {other} and {name}"
            );
            errors.push(FieldError::invalid(
                "metadata.ownerReferences",
                &owner.clone().into(),
                detail,
            ));
        }
    }
}

pub fn validate_update(object: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if object::is_terminating(old) {
        let before = object::finalizers(old);
        let added: Vec<&str> = object::finalizers(object)
            .into_iter()
            .filter(|each| !before.contains(each))
            .collect();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added
                    .iter()
                    .map(|name| format!("{name:?}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            );
            errors.push(FieldError::forbidden("metadata.finalizers", detail));
        }
    }
    errors
}

/// A name for `generateName`: five random characters without vowels are appended.
pub fn generated_name(base: &str) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    // 63 is the longest label; the suffix must fit in.
    let base: String = base.chars().take(58).collect();
    let suffix = uuid::Uuid::new_v4().into_bytes();
    let suffix = suffix[..5]
        .iter()
        .map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]));
    base + &suffix.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_labels_and_owners_are_checked() {
        let good = json!({"metadata": {"name": "a.b-1", "labels": {"x.y/z": "A_b", "e": ""}, "finalizers": ["a.b/c"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}]}});
        assert_eq!(validate(&good, NameRule::Subdomain), []);
        let bad = json!({"metadata": {"name": "A", "labels": {"a b": "c d"}, "finalizers": ["-"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n"}]}});
        let fields: Vec<String> = validate(&bad, NameRule::Subdomain)
            .into_iter()
            .map(|error| error.field)
            .collect();
        assert_eq!(
            fields,
            [
                "metadata.name",
                "metadata.labels",
                "metadata.labels",
                "metadata.ownerReferences[0].uid",
                "metadata.finalizers[0]"
            ]
        );
        assert_eq!(
            validate(&json!({"metadata": {"name": "a.b"}}), NameRule::Label).len(),
            1
        );
    }

    #[test]
    fn generated_names_are_valid_and_differ() {
        let (one, other) = (generated_name("agent-"), generated_name("agent-"));
        assert_ne!(one, other);
        assert!(check_label(&one).is_ok() && one.len() == 11, "{one}");
    }
}
