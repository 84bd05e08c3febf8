//! PATCH: JSON patch, merge patch, strategic merge patch. Server-side apply is in `apply.rs`.

use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use super::commit::Outcome;
use super::strategic;
use crate::error::{ApiError, FieldError, Result};
use crate::object;
use crate::request::RequestInfo;
use crate::request::body;
use crate::resources::Strategy;
use crate::server::Server;

/// The form of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// RFC 6902
    Json,
    /// RFC 7386
    Merge,
    /// Kubernetes' own, for built-in kinds.
    Strategic,
    Apply,
}

impl Form {
    /// The form with this media type.
    ///
    /// # Errors
    /// 415 for others, and for strategic patches of custom resources.
    pub fn of(media_type: &str, request: &RequestInfo) -> Result<Self> {
        let is_custom = request.resource.strategy == Strategy::Custom;
        match media_type {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if !is_custom => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ if is_custom => Err(ApiError::unsupported_media_type(
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
            _ => Err(ApiError::unsupported_media_type(
                "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, \
                 application/apply-patch+yaml",
            )),
        }
    }
}

impl Server {
    /// # Errors
    /// As [`Server::replace`]; 400 or 422 for patches that are malformed or do not apply.
    pub async fn patch(&self, request: &RequestInfo, form: Form, bytes: &[u8]) -> Result<Outcome> {
        match form {
            Form::Apply => self.apply(request, body::yaml(bytes)?).await,
            Form::Json => {
                let mut patch: Value = serde_json::from_slice(bytes)
                    .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
                object::normalize_numbers(&mut patch);
                let patch: Patch =
                    serde_json::from_value(patch).map_err(|_| ApiError::inapplicable_patch())?;
                check_length(&patch)?;
                self.change(request, |existing| {
                    kept_identity(request, json_patched(existing, &patch)?, existing)
                })
                .await
            }
            Form::Merge => {
                let patch = read(bytes)?;
                self.change(request, |existing| {
                    let mut object = existing.clone();
                    json_patch::merge(&mut object, &patch);
                    kept_identity(request, object, existing)
                })
                .await
            }
            Form::Strategic => {
                let patch = read(bytes)?;
                self.change(request, |existing| {
                    let object = strategic::merged(&request.resource.schema, existing, &patch)
                        .map_err(|error| ApiError::bad_request(error.to_string()))?;
                    kept_identity(request, object, existing)
                })
                .await
            }
        }
    }
}

fn read(bytes: &[u8]) -> Result<Value> {
    let patch = body::json(bytes)?;
    if !patch.is_object() {
        return Err(ApiError::bad_request(
            "error decoding patch: an object is expected",
        ));
    }
    Ok(patch)
}

/// A Kubernetes API server takes no more operations in a patch.
const MOST_OPERATIONS: usize = 10_000;

/// Bytes that the `copy` operations of a patch may copy in sum. Each of them may double the document.
const MOST_COPIED: usize = 3 << 20;

/// # Errors
/// 413.
pub fn check_length(patch: &Patch) -> Result<()> {
    let operations = patch.0.len();
    if operations > MOST_OPERATIONS {
        return Err(ApiError::too_many_operations(MOST_OPERATIONS, operations));
    }
    Ok(())
}

/// Applies a JSON patch.
///
/// # Errors
/// 422 when it does not fit, or copies too much.
pub fn json_patched(existing: &Value, patch: &Patch) -> Result<Value> {
    let mut object = existing.clone();
    let mut copied = 0;
    for operation in &patch.0 {
        if is_test_of_absence(&object, operation) {
            continue;
        }
        if let PatchOperation::Copy(copy) = operation {
            copied += object.pointer(copy.from.as_str()).map_or(0, object::json_length);
            if copied > MOST_COPIED {
                return Err(ApiError::copies_too_much(copied, MOST_COPIED));
            }
        }
        // A Kubernetes API server does not name the failed operation, either.
        json_patch::patch(&mut object, std::slice::from_ref(operation)).map_err(|error| {
            tracing::debug!(%error, "a JSON patch does not fit");
            ApiError::inapplicable_patch()
        })?;
    }
    Ok(object)
}

/// A test of a member for null means that it is null or missing: Kubernetes reads RFC 6902 in this way, and clients add a first finalizer
/// with such a patch.
fn is_test_of_absence(object: &Value, operation: &PatchOperation) -> bool {
    let PatchOperation::Test(test) = operation else {
        return false;
    };
    let path = test.path.as_str();
    let parent = path.rsplit_once('/').map(|(parent, _)| parent);
    let is_absent = object.pointer(path).is_none();
    test.value.is_null()
        && is_absent
        && parent
            .and_then(|parent| object.pointer(parent))
            .is_some_and(Value::is_object)
}

/// A patch may leave out `resourceVersion`, and may not change the uid.
fn kept_identity(request: &RequestInfo, mut object: Value, existing: &Value) -> Result<Value> {
    if object::resource_version(&object).is_empty() {
        let revision = object::resource_version(existing).to_owned();
        object::metadata_mut(&mut object).insert("resourceVersion".into(), revision.into());
    }
    let uid = object::uid(&object);
    if !uid.is_empty() && uid != object::uid(existing) {
        let error = FieldError::invalid("metadata.uid", &uid.into(), "field is immutable");
        return Err(ApiError::invalid(
            request.resource.kind_subject(),
            &request.name,
            &[error],
        ));
    }
    Ok(object)
}
