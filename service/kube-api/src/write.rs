//! Everything that changes objects.

pub mod apply;
pub mod create;
pub mod delete;
pub mod patch;
pub mod scale;
mod strategic;
pub mod update;

use std::sync::Arc;

use serde_json::Value;

use crate::builtin;
use crate::error::{ApiError, FieldError, Result, Subject};
use crate::fields::{Manager, Operation};
use crate::metadata;
use crate::object;
use crate::request::{Caller, FieldValidation, Options};
use crate::resource::Resource;
use crate::schema;
use crate::server::Server;
use crate::storage::{Expected, Revision, Stored, Write, Written};

/// What is asked of one object or one resource.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Of which resource.
    pub resource: Arc<Resource>,
    /// In which namespace; empty for all, and for resources without.
    pub namespace: String,
    /// Of which object; empty for the collection.
    pub name: String,
    /// `status`, ... or nothing.
    pub subresource: String,
    /// How.
    pub options: Options,
    /// By whom.
    pub caller: Caller,
    /// By which program, for managed fields.
    pub manager: String,
    /// By a patch.
    pub is_patch: bool,
}

impl Ask {
    /// Who writes, for managed fields.
    pub fn manager(&self, operation: Operation) -> Manager {
        Manager {
            name: self.manager.clone(),
            operation,
            api_version: self.resource.api_version(),
            subresource: self.subresource.clone(),
        }
    }

    fn not_found(&self) -> ApiError {
        ApiError::not_found(self.resource.subject(), &self.name)
    }
}

/// What is answered to a write.
#[derive(Debug)]
pub struct Outcome {
    /// Whether the object is new.
    pub created: bool,
    /// It, or a `Status`.
    pub object: Value,
    /// What the caller should know.
    pub warnings: Vec<String>,
}

/// An object as it is now.
#[derive(Debug)]
pub struct Present {
    /// As kept.
    pub stored: Stored,
    /// As served.
    pub object: Value,
}

/// How often a write starts anew when others write the same object meanwhile.
const ATTEMPTS: usize = 20;
/// Bytes of an object. Source: etcd's `--max-request-bytes`.
const MOST_BYTES: usize = 1_572_864;

impl Server {
    /// The object that is asked for.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn present(&self, ask: &Ask) -> Result<Option<Present>> {
        let key = ask.resource.key(&ask.namespace, &ask.name);
        let Some(stored) = self.storage.get(&key).await? else {
            return Ok(None);
        };
        let object = ask.resource.served(stored.object()?);
        Ok(Some(Present { stored, object }))
    }

    /// Writes an object. Nothing if somebody else wrote it meanwhile.
    async fn commit(
        &self,
        ask: &Ask,
        object: Value,
        present: Option<Present>,
        deletes: bool,
    ) -> Result<Option<Value>> {
        let stored = ask.resource.as_stored(object);
        if size(&stored) > MOST_BYTES {
            return Err(ApiError::object_too_large());
        }
        let expected = present
            .as_ref()
            .map_or(Expected::Absent, |present| Expected::At(present.stored.revision));
        let write = Write {
            key: ask.resource.key(&ask.namespace, object::name(&stored)),
            expected,
            previous: present.map(|present| (present.stored, ask.resource.as_stored(present.object))),
            object: stored,
            deletes,
        };
        match self.storage.write(write).await? {
            Written::Unexpected => Ok(None),
            Written::Done(change, object) => {
                self.committed(change).await;
                Ok(Some(ask.resource.served(object)))
            }
        }
    }
}

fn size(object: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, object) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

/// Checks that a body is of the kind and place that the path names, and writes the place into it.
fn check_place(ask: &Ask, object: &mut Value) -> Result<()> {
    let expected = ask.resource.api_version();
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    if !api_version.is_empty() && api_version != expected {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )));
    }
    if kind != ask.resource.kind {
        let is_typed = ask.resource.nature.is_typed();
        if kind.is_empty() && !is_typed {
            let message = format!(
                "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing",
                ask.resource.kind
            );
            return Err(ApiError::bad_request(message));
        }
        if !kind.is_empty() && !is_typed {
            let subject = Subject {
                group: &ask.resource.group,
                word: kind,
            };
            let error = FieldError::invalid("kind", &kind.into(), format!("must be {}", ask.resource.kind));
            return Err(ApiError::invalid(subject, object::name(object), &[error]));
        }
        if !kind.is_empty() {
            let message = format!(
                "{kind} in version {api_version:?} cannot be handled as a {}: converting ({kind}) to ({}): unknown conversion",
                ask.resource.kind, ask.resource.kind
            );
            return Err(ApiError::bad_request(message));
        }
    }
    let in_data = object::namespace(object);
    if ask.resource.namespaced && !in_data.is_empty() && in_data != ask.namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(ApiError::bad_request(message));
    }
    let name = object::name(object);
    if !ask.name.is_empty() && !name.is_empty() && name != ask.name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            ask.name
        )));
    }
    let kind = ask.resource.kind.clone();
    object["apiVersion"] = expected.into();
    object["kind"] = kind.into();
    let metadata = object::metadata_mut(object);
    metadata.remove("selfLink");
    if ask.resource.namespaced {
        metadata.insert("namespace".into(), ask.namespace.clone().into());
    } else {
        metadata.remove("namespace");
    }
    if !ask.name.is_empty() {
        metadata.insert("name".into(), ask.name.clone().into());
    }
    Ok(())
}

/// Drops what the schema does not know, and tells about it as the caller wishes.
fn prune(ask: &Ask, object: &mut Value) -> Result<Vec<String>> {
    let unknown = schema::prune(&ask.resource.schema, object, true);
    let unknown: Vec<String> = unknown
        .into_iter()
        .map(|path| format!("unknown field {path:?}"))
        .collect();
    match ask.options.field_validation {
        _ if unknown.is_empty() => Ok(Vec::new()),
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(unknown),
        FieldValidation::Strict if ask.is_patch => {
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
            kind = ask.resource.kind,
            version = ask.resource.version,
        ))),
    }
}

/// Nulls in metadata say the same as absence.
fn tidy_metadata(object: &mut Value) {
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

/// Fills in defaults and what the server fills in.
fn complete(ask: &Ask, object: &mut Value, old: Option<&Value>) {
    if !ask.resource.nature.is_typed() {
        schema::apply_defaults(&ask.resource.schema, object);
    }
    builtin::complete(ask.resource.nature, object, old, &ask.caller);
}

/// Refuses what breaks a rule.
fn check(ask: &Ask, object: &Value, old: Option<&Value>) -> Result<()> {
    let resource = &ask.resource;
    let mut errors = metadata::validate(object, resource.nature.name_rule());
    if let Some(old) = old {
        errors.extend(metadata::validate_update(object, old));
    }
    let found = schema::validate(&resource.schema, object, old);
    let cannot_be_read = |error: &&FieldError| {
        error.reason == "FieldValueTypeInvalid" || error.message.contains("must be of type byte")
    };
    if let Some(error) = found.iter().find(cannot_be_read)
        && (resource.nature.is_typed() || error.field.starts_with("metadata"))
    {
        // What stands in a Secret does not belong into messages.
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
    for error in builtin::validate(resource.nature, object, old) {
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

/// `metadata.resourceVersion` of a body.
fn revision_of(object: &Value) -> Result<Option<Revision>> {
    match object::resource_version(object) {
        "" | "0" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            let error = FieldError::invalid(
                "metadata.resourceVersion",
                &text.into(),
                "it must be what this server wrote",
            );
            ApiError::bad_request(error.to_string())
        }),
    }
}
