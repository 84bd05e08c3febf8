//! Checks and completes the body of a write.

use serde_json::Value;

use super::builtin;
use crate::error::{ApiError, FieldError, Result, Subject};
use crate::object::{self, validation};
use crate::request::{FieldValidation, RequestInfo};
use crate::resources::Strategy;
use crate::schema::{self, DefaultsTooLarge};
use crate::storage::Revision;

/// Checks that API version, kind, namespace and name in a body are those of the path, and sets them where they are missing.
pub fn check_place(request: &RequestInfo, object: &mut Value) -> Result<()> {
    check_kind(request, object)?;
    let resource = &request.resource;
    let namespace = object::namespace(object);
    if resource.namespaced && !namespace.is_empty() && namespace != request.namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(ApiError::bad_request(message));
    }
    let name = object::name(object);
    if !request.name.is_empty() && !name.is_empty() && name != request.name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            request.name
        )));
    }
    object["apiVersion"] = resource.api_version().into();
    object["kind"] = resource.kind.clone().into();
    let metadata = object::metadata_mut(object);
    metadata.remove("selfLink");
    if resource.namespaced {
        metadata.insert("namespace".into(), request.namespace.clone().into());
    } else {
        metadata.remove("namespace");
    }
    if !request.name.is_empty() {
        metadata.insert("name".into(), request.name.clone().into());
    }
    Ok(())
}

fn check_kind(request: &RequestInfo, object: &Value) -> Result<()> {
    let resource = &request.resource;
    let expected = resource.api_version();
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    if !api_version.is_empty() && api_version != expected {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )));
    }
    match (kind, resource.strategy.is_typed()) {
        (kind, _) if kind == resource.kind => Ok(()),
        ("", true) => Ok(()),
        ("", false) => Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing",
            resource.kind
        ))),
        (kind, true) => Err(ApiError::bad_request(format!(
            "{kind} in version {api_version:?} cannot be handled as a {}: converting ({kind}) to ({}): unknown conversion",
            resource.kind, resource.kind
        ))),
        (kind, false) => {
            let subject = Subject {
                group: &resource.group,
                word: kind,
            };
            let error = FieldError::invalid("kind", &kind.into(), format!("must be {}", resource.kind));
            Err(ApiError::invalid(subject, object::name(object), &[error]))
        }
    }
}

/// Drops fields that the schema does not declare; returns warnings or refuses them, depending on `fieldValidation`.
pub fn prune(request: &RequestInfo, object: &mut Value) -> Result<Vec<String>> {
    let resource = &request.resource;
    if resource.strategy.is_typed() {
        schema::drop_nulls(&resource.schema, object);
        // Zeros are not filled into metadata, nor empty texts into definitions, since validation refuses an empty text there.
        let texts = resource.strategy != Strategy::Definition;
        let metadata = object
            .as_object_mut()
            .and_then(|members| members.remove("metadata"));
        schema::fill_zeros(&resource.schema, object, texts);
        object::set_member(object, "metadata", metadata);
    }
    let unknown = schema::prune(&request.resource.schema, object, true);
    let unknown: Vec<String> = unknown
        .into_iter()
        .map(|path| format!("unknown field {path:?}"))
        .collect();
    match request.options.field_validation {
        _ if unknown.is_empty() => Ok(Vec::new()),
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(unknown),
        FieldValidation::Strict if request.is_patch => {
            let text = Value::from(object.to_string());
            let detail = format!("strict decoding error: {}", unknown.join(", "));
            let nothing = Subject { group: "", word: "" };
            Err(ApiError::invalid(
                nothing,
                "",
                &[FieldError::invalid("patch", &text, detail)],
            ))
        }
        FieldValidation::Strict => Err(ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {}",
            unknown.join(", "),
            kind = request.resource.kind,
            version = request.resource.version,
        ))),
    }
}

/// Returns a warning for each new finalizer that has no domain with a path, in the words of a Kubernetes API server.
pub fn unqualified_finalizers(request: &RequestInfo, object: &Value, old: Option<&Value>) -> Vec<String> {
    if !matches!(request.resource.strategy, Strategy::Custom | Strategy::Definition) {
        return Vec::new();
    }
    let before = old.map(object::finalizers).unwrap_or_default();
    let mut added = object::finalizers(object);
    added.retain(|name| !name.contains('/') && !before.contains(name));
    added.sort_unstable();
    added.dedup();
    let warned = added.into_iter().map(|name| {
        format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name including a path (/) to avoid accidental \
             conflicts with other finalizer writers"
        )
    });
    warned.collect()
}

/// Drops members of metadata that are null or empty.
pub fn tidy_metadata(object: &mut Value) {
    let metadata = object::metadata_mut(object);
    metadata.retain(|_, value| !value.is_null());
    for list in ["finalizers", "ownerReferences"] {
        if metadata
            .get(list)
            .is_some_and(|value| value.as_array().is_some_and(Vec::is_empty))
        {
            metadata.remove(list);
        }
    }
    for map in ["labels", "annotations"] {
        if metadata
            .get(map)
            .is_some_and(|value| value.as_object().is_some_and(serde_json::Map::is_empty))
        {
            metadata.remove(map);
        }
    }
}

/// Fills in the schema's defaults and the fields that the server sets.
///
/// # Errors
/// Fails if the object with its defaults is larger than objects may be.
pub fn complete(request: &RequestInfo, object: &mut Value, old: Option<&Value>) -> Result<()> {
    if !request.resource.strategy.is_typed() {
        schema::apply_defaults(&request.resource.schema, object)
            .map_err(|DefaultsTooLarge| ApiError::object_too_large())?;
    }
    builtin::complete(request.resource.strategy, object, old, &request.caller);
    Ok(())
}

/// Validates the object that is about to be stored.
///
/// # Errors
/// Fails with 422 and all violations; with 400 if a value has a type that Go could not decode.
pub fn check(request: &RequestInfo, object: &Value, old: Option<&Value>) -> Result<()> {
    let resource = &request.resource;
    let mut errors = validation::validate(object, resource.strategy.name_rule());
    if let Some(old) = old {
        errors.extend(validation::validate_update(object, old));
    }
    let found = schema::validate(&resource.schema, object, old);
    let is_undecodable = |error: &&FieldError| {
        error.reason == "FieldValueTypeInvalid" || error.message.contains("must be of type byte")
    };
    if let Some(error) = found.iter().find(is_undecodable)
        && (resource.strategy.is_typed() || error.field.starts_with("metadata"))
    {
        // Values may be secret and stay out of messages.
        let why = match error.reason {
            "FieldValueTypeInvalid" => error.to_string(),
            _ => format!("illegal base64 data in {}", error.field),
        };
        return Err(ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}",
            kind = resource.kind,
            version = resource.version,
        )));
    }
    errors.extend(found);
    for error in builtin::validate(resource.strategy, object, old) {
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(
        resource.kind_subject(),
        object::name(object),
        &errors,
    ))
}

/// `metadata.resourceVersion` of a body; `None` when it is not set.
pub fn revision_of(object: &Value) -> Result<Option<Revision>> {
    match object::resource_version(object) {
        "" | "0" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            let error = FieldError::invalid(
                "metadata.resourceVersion",
                &text.into(),
                "it must be a version that this server returned",
            );
            ApiError::bad_request(error.to_string())
        }),
    }
}
