//! PUT, and the steps that all changes of an existing object share.

use serde_json::{Value, json};

use super::builtin;
use super::checks::{
    check, check_place, complete, prune, revision_of, tidy_metadata, unqualified_finalizers,
};
use super::commit::{ATTEMPTS, Existing, Outcome};
use crate::error::{ApiError, FieldError, Result};
use crate::fields::{Operation, managers};
use crate::object;
use crate::request::RequestInfo;
use crate::resources::Strategy;
use crate::schema::{DefaultsTooLarge, apply_defaults};
use crate::server::Server;

impl Server {
    /// Replaces an object or the part of it that a subresource covers.
    ///
    /// # Errors
    /// 404; 409 for another version than the body's; 400 and 422 for invalid content.
    pub async fn replace(&self, request: &RequestInfo, mut body: Value) -> Result<Outcome> {
        check_place(request, &mut body)?;
        self.change(request, |_| Ok(body.clone())).await
    }

    /// Changes an object. `new` is called with the existing object, and again when another client writes in
    /// between.
    ///
    /// # Errors
    /// As [`Server::replace`], and if `new` fails.
    pub async fn change(
        &self,
        request: &RequestInfo,
        new: impl Fn(&Value) -> Result<Value>,
    ) -> Result<Outcome> {
        for _ in 0..ATTEMPTS {
            let existing = self.existing(request).await?.ok_or_else(|| request.not_found())?;
            let mut desired = new(&existing.object)?;
            check_place(request, &mut desired)?;
            let mut warnings = prune(request, &mut desired)?;
            warnings.extend(unqualified_finalizers(request, &desired, Some(&existing.object)));
            let mut prepared = prepare_update(request, &existing.object, desired)?;
            managers::on_update(
                &*request.resource,
                Some(&existing.object),
                &mut prepared,
                &request.manager(Operation::Update),
            );
            if let Some(outcome) = self.finish(request, existing, prepared).await? {
                return Ok(Outcome { warnings, ..outcome });
            }
        }
        Err(request.modified_meanwhile())
    }

    /// Stores the result of [`prepare_update`], unless nothing changed. `None` if another client wrote in
    /// between.
    pub(super) async fn finish(
        &self,
        request: &RequestInfo,
        existing: Existing,
        mut new: Value,
    ) -> Result<Option<Outcome>> {
        let old = &existing.object;
        if new == *old {
            return Ok(Some(Outcome::changed(new)));
        }
        if request.resource.has_generation() && content_differs(request, old, &new) {
            let generation = object::generation(old) + 1;
            object::metadata_mut(&mut new).insert("generation".into(), generation.into());
        }
        check(request, &new, Some(old))?;
        // The last finalizer of an object that is being deleted was removed.
        let deletes =
            object::is_terminating(old) && object::finalizers(&new).is_empty() && !is_held(request, &new);
        if request.options.dry_run {
            return Ok(Some(Outcome::changed(new)));
        }
        self.commit(request, new, Some(existing), deletes).await
    }
}

/// True while a namespace has finalizers in its spec.
pub(super) fn is_held(request: &RequestInfo, object: &Value) -> bool {
    let finalizers = object::at(object, &["spec", "finalizers"]).and_then(Value::as_array);
    request.resource.strategy == Strategy::Namespace
        && finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

/// True when anything but metadata (and a status that is a subresource) differs.
fn content_differs(request: &RequestInfo, old: &Value, new: &Value) -> bool {
    let is_content = |name: &str| name != "metadata" && !(request.resource.has_status && name == "status");
    let differs = |one: &Value, other: &Value| {
        let members = one.as_object().into_iter().flatten();
        members
            .filter(|(name, _)| is_content(name))
            .any(|(name, value)| other.get(name) != Some(value))
    };
    differs(old, new) || differs(new, old)
}

/// The object that results when `desired` is written over `old`: fields that the client may not change are as in
/// `old`.
pub(super) fn prepare_update(request: &RequestInfo, old: &Value, desired: Value) -> Result<Value> {
    check_preconditions(request, old, &desired)?;
    match request.subresource.as_str() {
        "" => updated_main(request, old, desired),
        "status" => updated_status(request, old, desired),
        "approval" => Ok(with_list(old, &desired, "status", "conditions")),
        "finalize" => Ok(with_list(old, &desired, "spec", "finalizers")),
        _ => Err(ApiError::no_such_resource()),
    }
}

/// Checks the uid and the resource version of a body.
fn check_preconditions(request: &RequestInfo, old: &Value, desired: &Value) -> Result<()> {
    let resource = &request.resource;
    let uid = object::uid(desired);
    if !uid.is_empty() && uid != object::uid(old) {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            object::uid(old)
        );
        return Err(ApiError::conflict(resource.subject(), &request.name, why));
    }
    match revision_of(desired)? {
        Some(revision) if revision.to_string() != object::resource_version(old) => {
            Err(request.modified_meanwhile())
        }
        None if !resource.strategy.allows_unconditional_update() => {
            let error = FieldError::invalid(
                "metadata.resourceVersion",
                &json!(0),
                "must be specified for an update",
            );
            Err(ApiError::invalid(resource.subject(), &request.name, &[error]))
        }
        _ => Ok(()),
    }
}

fn updated_main(request: &RequestInfo, old: &Value, mut desired: Value) -> Result<Value> {
    let resource = &request.resource;
    if resource.has_status {
        object::set_member(&mut desired, "status", old.get("status").cloned());
    }
    builtin::keep_immutable(resource.strategy, &mut desired, old);
    let sent = object::metadata_mut(&mut desired).remove("managedFields");
    keep_metadata(&mut desired, old);
    // Whether they are usable is decided where the write itself is recorded.
    if let Some(entries) =
        sent.filter(|entries| entries.as_array().is_some_and(|entries| !entries.is_empty()))
    {
        object::metadata_mut(&mut desired).insert("managedFields".into(), entries);
    }
    tidy_metadata(&mut desired);
    complete(request, &mut desired, Some(old))?;
    Ok(desired)
}

fn updated_status(request: &RequestInfo, old: &Value, mut desired: Value) -> Result<Value> {
    let resource = &request.resource;
    // A status may be large: neither of them is copied.
    let others = old
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != "status");
    let mut new: Value = others
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    object::set_member(&mut new, "status", object::take_member(&mut desired, "status"));
    if resource.strategy == Strategy::Node {
        // Kubelets annotate their node when they report its status.
        object::set_member(
            &mut new,
            "metadata",
            object::take_member(&mut desired, "metadata"),
        );
        keep_metadata(&mut new, old);
    }
    if resource.strategy == Strategy::Custom {
        apply_defaults(&resource.schema, &mut new)
            .map_err(|DefaultsTooLarge| ApiError::object_too_large())?;
    }
    Ok(new)
}

/// `old` with one list of `desired`; empty if it is missing there.
fn with_list(old: &Value, desired: &Value, member: &str, list: &str) -> Value {
    let elements = object::at(desired, &[member, list]).cloned();
    let mut new = old.clone();
    object::member_mut(&mut new, member).insert(list.into(), elements.unwrap_or_else(|| json!([])));
    new
}

/// Restores metadata that only the server sets.
fn keep_metadata(new: &mut Value, old: &Value) {
    let kept = [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "managedFields",
        "generateName",
    ];
    let metadata = object::metadata_mut(new);
    for member in kept {
        match object::metadata(old).and_then(|metadata| metadata.get(member)) {
            Some(value) => {
                metadata.insert(member.into(), value.clone());
            }
            None => {
                metadata.remove(member);
            }
        }
    }
}
