//! PUT, and what all changes of an existing object have in common.

use serde_json::{Value, json};

use super::{
    ATTEMPTS, Ask, Outcome, Present, check, check_place, complete, prune, revision_of, tidy_metadata,
};
use crate::builtin::{self, Nature};
use crate::error::{ApiError, FieldError, Result};
use crate::fields::{Operation, managers};
use crate::object;
use crate::server::Server;

impl Server {
    /// Replaces an object, or the part of it that a subresource is.
    ///
    /// # Errors
    /// 404, 409 for another version than the body's, 400 and 422 for what breaks rules.
    pub async fn replace(&self, ask: &Ask, mut body: Value) -> Result<Outcome> {
        check_place(ask, &mut body)?;
        self.change(ask, |_| Ok(body.clone())).await
    }

    /// Changes an object: `new` is called with the present one, again when somebody else writes meanwhile.
    ///
    /// # Errors
    /// As [`Server::replace`], and those of `new`.
    pub async fn change(&self, ask: &Ask, new: impl Fn(&Value) -> Result<Value>) -> Result<Outcome> {
        for _ in 0..ATTEMPTS {
            let present = self.present(ask).await?.ok_or_else(|| ask.not_found())?;
            let mut wanted = new(&present.object)?;
            check_place(ask, &mut wanted)?;
            let warnings = prune(ask, &mut wanted)?;
            let mut settled = settle(ask, &present.object, wanted)?;
            managers::on_update(
                &ask.resource.schema,
                Some(&present.object),
                &mut settled,
                &ask.manager(Operation::Update),
            );
            if let Some(object) = self.finish(ask, present, settled).await? {
                return Ok(Outcome {
                    created: false,
                    object,
                    warnings,
                });
            }
        }
        Err(ApiError::modified_meanwhile(ask.resource.subject(), &ask.name))
    }

    /// Stores what [`settle`] made, if it is different at all. Nothing if somebody else wrote meanwhile.
    pub(super) async fn finish(&self, ask: &Ask, present: Present, mut new: Value) -> Result<Option<Value>> {
        let old = &present.object;
        if new == *old {
            return Ok(Some(new));
        }
        if ask.resource.has_generation() && content_differs(ask, old, &new) {
            let generation = object::generation(old) + 1;
            object::metadata_mut(&mut new).insert("generation".into(), generation.into());
        }
        check(ask, &new, Some(old))?;
        // The last finalizer of an object that shall go is gone.
        let deletes =
            object::is_terminating(old) && object::finalizers(&new).is_empty() && !is_held(ask, &new);
        if ask.options.dry_run {
            return Ok(Some(new));
        }
        self.commit(ask, new, Some(present), deletes).await
    }
}

/// Namespaces have finalizers of their own.
pub(super) fn is_held(ask: &Ask, object: &Value) -> bool {
    let finalizers = object::at(object, &["spec", "finalizers"]).and_then(Value::as_array);
    ask.resource.nature == Nature::Namespace && finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

/// Whether anything but metadata (and a status that is apart) differs.
fn content_differs(ask: &Ask, old: &Value, new: &Value) -> bool {
    let is_content = |name: &str| name != "metadata" && !(ask.resource.has_status && name == "status");
    let differs = |one: &Value, other: &Value| {
        let members = one.as_object().into_iter().flatten();
        members
            .filter(|(name, _)| is_content(name))
            .any(|(name, value)| other.get(name) != Some(value))
    };
    differs(old, new) || differs(new, old)
}

/// The object that results when `wanted` is written over `old`: what the caller may not change is as it was.
pub(super) fn settle(ask: &Ask, old: &Value, mut wanted: Value) -> Result<Value> {
    let resource = &ask.resource;
    let uid = object::uid(&wanted);
    if !uid.is_empty() && uid != object::uid(old) {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            object::uid(old)
        );
        return Err(ApiError::conflict(resource.subject(), &ask.name, why));
    }
    match revision_of(&wanted)? {
        Some(revision) if revision.to_string() != object::resource_version(old) => {
            return Err(ApiError::modified_meanwhile(resource.subject(), &ask.name));
        }
        None if !resource.nature.replaces_blindly() => {
            let error = FieldError::invalid(
                "metadata.resourceVersion",
                &json!(0),
                "must be specified for an update",
            );
            return Err(ApiError::invalid(resource.subject(), &ask.name, &[error]));
        }
        _ => {}
    }
    let new = match ask.subresource.as_str() {
        "" => {
            if resource.has_status {
                object::set_member(&mut wanted, "status", old.get("status").cloned());
            }
            builtin::keep_on_update(resource.nature, &mut wanted, old);
            keep_metadata(&mut wanted, old);
            tidy_metadata(&mut wanted);
            complete(ask, &mut wanted, Some(old));
            wanted
        }
        "status" => {
            let mut new = old.clone();
            object::set_member(&mut new, "status", wanted.get("status").cloned());
            if resource.nature == Nature::Node {
                // Kubelets annotate their node while they report its status.
                object::set_member(&mut new, "metadata", wanted.get("metadata").cloned());
                keep_metadata(&mut new, old);
            }
            if resource.nature == Nature::Custom {
                crate::schema::apply_defaults(&resource.schema, &mut new);
            }
            new
        }
        "approval" => {
            let mut new = old.clone();
            let conditions = object::at(&wanted, &["status", "conditions"])
                .cloned()
                .unwrap_or_else(|| json!([]));
            object::member_mut(&mut new, "status").insert("conditions".into(), conditions);
            new
        }
        "finalize" => {
            let mut new = old.clone();
            let finalizers = object::at(&wanted, &["spec", "finalizers"])
                .cloned()
                .unwrap_or_else(|| json!([]));
            object::member_mut(&mut new, "spec").insert("finalizers".into(), finalizers);
            new
        }
        _ => return Err(ApiError::no_such_resource()),
    };
    Ok(new)
}

/// Metadata that only the server sets.
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
            // A list with one empty entry asks for a reset.
            Some(_) if member == "managedFields" && metadata.get(member) == Some(&json!([{}])) => {}
            Some(value) => {
                metadata.insert(member.into(), value.clone());
            }
            None => {
                metadata.remove(member);
            }
        }
    }
}
