//! Completes and validates objects of built-in kinds.

use base64::Engine as _;
use serde_json::{Map, Value, json};

use crate::error::FieldError;
use crate::object;
use crate::request::Caller;
use crate::resources::{Strategy, crd};

/// Sets the fields that a server sets, on creation (`old` is `None`) and on update.
pub fn complete(strategy: Strategy, object: &mut Value, old: Option<&Value>, caller: &Caller) {
    match strategy {
        Strategy::Namespace => complete_namespace(object, old),
        Strategy::Secret => complete_secret(object),
        Strategy::SigningRequest if old.is_none() => {
            let spec = object::member_mut(object, "spec");
            spec.insert("username".into(), caller.name.clone().into());
            spec.insert("groups".into(), caller.groups.clone().into());
            if !caller.uid.is_empty() {
                spec.insert("uid".into(), caller.uid.clone().into());
            }
        }
        Strategy::Definition => {
            crd::complete(object);
            if old.is_none() {
                let finalizers = object::metadata_mut(object)
                    .entry("finalizers")
                    .or_insert_with(|| json!([]));
                if let Some(finalizers) = finalizers.as_array_mut()
                    && !finalizers.iter().any(|name| name == crd::CLEANUP)
                {
                    finalizers.push(crd::CLEANUP.into());
                }
            }
        }
        _ => {}
    }
}

fn complete_namespace(object: &mut Value, old: Option<&Value>) {
    let name = object::name(object).to_owned();
    let labels = object::member_mut(object::metadata_value(object), "labels");
    labels.insert("kubernetes.io/metadata.name".into(), name.into());
    match old {
        None => {
            object["spec"] = json!({"finalizers": ["kubernetes"]});
            object["status"] = json!({"phase": "Active"});
        }
        // Only `/finalize` changes it.
        Some(old) => {
            let spec = old.get("spec").cloned();
            object::set_member(object, "spec", spec);
        }
    }
}

fn complete_secret(object: &mut Value) {
    let plain = object
        .get("stringData")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    object::set_member(object, "stringData", None);
    if !plain.is_empty() {
        let data = object::member_mut(object, "data");
        for (name, text) in plain {
            let text = text.as_str().unwrap_or_default();
            data.insert(
                name,
                base64::engine::general_purpose::STANDARD.encode(text).into(),
            );
        }
    }
    if object
        .get("type")
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
    {
        object["type"] = "Opaque".into();
    }
}

/// Restores fields of the main resource that an update may not change. The status is restored elsewhere.
pub fn keep_immutable(strategy: Strategy, object: &mut Value, old: &Value) {
    if strategy == Strategy::SigningRequest {
        object::set_member(object, "spec", old.get("spec").cloned());
    }
}

/// Validates an object of a built-in kind.
pub fn validate(strategy: Strategy, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match strategy {
        Strategy::Secret => {
            check_keys(object, "data", &mut errors);
            check_secret_type(object, &mut errors);
            check_immutable(object, old, &["data"], &mut errors);
            if let Some(old) = old
                && old.get("type") != object.get("type")
            {
                errors.push(FieldError::invalid("type", &object["type"], "field is immutable"));
            }
        }
        Strategy::ConfigMap => {
            check_keys(object, "data", &mut errors);
            check_keys(object, "binaryData", &mut errors);
            check_immutable(object, old, &["data", "binaryData"], &mut errors);
        }
        Strategy::SigningRequest => {
            for member in ["request", "signerName"] {
                if object["spec"][member].as_str().is_none_or(str::is_empty) {
                    errors.push(FieldError::required(format!("spec.{member}"), ""));
                }
            }
        }
        Strategy::Event => {
            let involved = object["involvedObject"]["namespace"].as_str().unwrap_or_default();
            let home = if involved.is_empty() { "default" } else { involved };
            if old.is_none() && object::namespace(object) != home {
                let detail = "does not match event.namespace";
                errors.push(FieldError::invalid(
                    "involvedObject.namespace",
                    &involved.into(),
                    detail,
                ));
            }
        }
        Strategy::Node => {
            for (index, taint) in object["spec"]["taints"]
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
            {
                for member in ["key", "effect"] {
                    if taint[member].as_str().is_none_or(str::is_empty) {
                        errors.push(FieldError::required(format!("spec.taints[{index}].{member}"), ""));
                    }
                }
            }
        }
        Strategy::Definition => errors.extend(crd::validate(object, old)),
        Strategy::Custom
        | Strategy::Namespace
        | Strategy::GroupedEvent
        | Strategy::Lease
        | Strategy::Identity
        | Strategy::Access
        | Strategy::Rules
        | Strategy::Service => {}
    }
    errors
}

fn check_keys(object: &Value, member: &str, errors: &mut Vec<FieldError>) {
    let entries = object.get(member).and_then(Value::as_object);
    for key in entries.into_iter().flat_map(Map::keys) {
        let is_good = !key.is_empty()
            && key.len() <= 253
            && !matches!(key.as_str(), "." | "..")
            && key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        if !is_good {
            let detail = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
                 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
            errors.push(FieldError::invalid(
                format!("{member}[{key}]"),
                &key.as_str().into(),
                detail,
            ));
        }
    }
}

/// Secret types with required keys. Source: `ValidateSecret`.
fn check_secret_type(object: &Value, errors: &mut Vec<FieldError>) {
    let desired: &[&str] = match object["type"].as_str().unwrap_or_default() {
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    };
    for key in desired {
        if object["data"].get(key).is_none() {
            errors.push(FieldError::required(format!("data[{key}]"), ""));
        }
    }
}

fn check_immutable(object: &Value, old: Option<&Value>, members: &[&str], errors: &mut Vec<FieldError>) {
    let Some(old) = old.filter(|old| old["immutable"] == true) else {
        return;
    };
    if object["immutable"] != true {
        errors.push(FieldError::forbidden(
            "immutable",
            "field is immutable when `immutable` is set",
        ));
    }
    for member in members {
        if object.get(member) != old.get(member) {
            errors.push(FieldError::forbidden(
                *member,
                "field is immutable when `immutable` is set",
            ));
        }
    }
}
