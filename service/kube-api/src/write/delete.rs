//! DELETE: deletes an object or a collection. Finalizers keep an object until their owners remove them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::commit::{ATTEMPTS, Existing, Outcome};
use super::update::is_held;
use crate::error::{ApiError, Result};
use crate::object;
use crate::read::{Item, ListPages, Projection};
use crate::request::{Propagation, RequestInfo};
use crate::resources::Strategy;
use crate::server::Server;

/// The finalizer of an owner while it has dependents that block its deletion.
pub const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner until its dependents are released.
pub const ORPHAN: &str = "orphan";

/// Namespaces that stay. Source: `immortalNamespaces` of the admission plugin NamespaceLifecycle.
const LASTING: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Objects that the answer to the deletion of a collection holds at most.
const LONGEST_ANSWER: usize = 500;

/// `DeleteOptions`
#[derive(Debug, Clone, Default)]
pub struct Deletion {
    pub propagation: Option<Propagation>,
    /// Precondition.
    pub uid: Option<String>,
    /// Precondition.
    pub resource_version: Option<String>,
    pub dry_run: bool,
}

impl Deletion {
    /// Parses the body and the query of a request; the body takes precedence.
    ///
    /// # Errors
    /// 400 for malformed values, 422 for unsupported ones.
    pub fn parse(body: &Value, request: &RequestInfo) -> Result<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let dry_run = body["dryRun"]
            .as_array()
            .is_some_and(|values| values.iter().any(|value| value == "All"));
        let mut propagation = request.options.propagation;
        if let Some(policy) = body["propagationPolicy"].as_str() {
            propagation = Some(Propagation::parse(policy)?);
        } else if body["orphanDependents"] == true {
            propagation = Some(Propagation::Orphan);
        }
        Ok(Self {
            propagation,
            uid: text(&body["preconditions"]["uid"]),
            resource_version: text(&body["preconditions"]["resourceVersion"]),
            dry_run: dry_run || request.options.dry_run,
        })
    }
}

/// The next step of a deletion.
enum Step {
    /// Delete the object.
    Remove(Value),
    /// Set the deletion timestamp and wait for finalizers.
    Mark(Value),
    /// The object waits for finalizers already.
    Nothing,
}

impl Server {
    /// Deletes an object, or marks it for deletion while it has finalizers.
    ///
    /// # Errors
    /// 404; 409 for another uid or version than the preconditions name.
    pub async fn delete(&self, request: &RequestInfo, deletion: &Deletion) -> Result<Outcome> {
        if request.resource.strategy == Strategy::Namespace && LASTING.contains(&&*request.name) {
            let why = "this namespace may not be deleted";
            return Err(ApiError::forbidden(
                request.resource.subject(),
                &request.name,
                why,
            ));
        }
        for _ in 0..ATTEMPTS {
            let existing = self.existing(request).await?.ok_or_else(|| request.not_found())?;
            check_preconditions(request, &existing, deletion)?;
            let old = existing.object.clone();
            let (new, deletes) = match step(request, &old, deletion.propagation.unwrap_or_default()) {
                Step::Nothing => return Ok(Outcome::changed(old)),
                Step::Mark(new) => (new, false),
                Step::Remove(last) => (last, true),
            };
            if deletion.dry_run {
                return Ok(Outcome::changed(if deletes {
                    success(request, &old)
                } else {
                    new
                }));
            }
            if let Some(outcome) = self.commit(request, new, Some(existing), deletes).await? {
                return Ok(match deletes {
                    true => Outcome::changed(success(request, &outcome.object)),
                    false => outcome,
                });
            }
            if deletion.resource_version.is_some() {
                return Err(request.modified_meanwhile());
            }
        }
        Err(request.modified_meanwhile())
    }

    /// Deletes all selected objects, page after page. Returns the list of them, or only a success when they are many.
    ///
    /// # Errors
    /// If a page cannot be listed or an object cannot be deleted.
    pub async fn delete_collection(
        self: Arc<Self>,
        request: RequestInfo,
        deletion: &Deletion,
    ) -> Result<Outcome> {
        let mut pages = ListPages::of_now(self.clone(), request.clone(), Projection::Objects)?;
        let mut deleted = Some(Vec::new());
        while let Some(items) = pages.next().await? {
            for item in items {
                let Item::Object(object) = item else { continue };
                let one = RequestInfo {
                    namespace: object::namespace(&object).to_owned(),
                    name: object::name(&object).to_owned(),
                    ..request.clone()
                };
                match self.delete(&one, deletion).await {
                    Err(error) if error.code() == 404 => {}
                    outcome => drop(outcome?),
                }
                deleted = deleted.filter(|list| list.len() < LONGEST_ANSWER);
                deleted.iter_mut().for_each(|list| list.push(object.clone()));
            }
        }
        let Some(deleted) = deleted else {
            let success = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
            return Ok(Outcome::changed(success));
        };
        let list = json!({
            "apiVersion": request.resource.api_version(),
            "kind": request.resource.list_kind,
            "metadata": {"resourceVersion": pages.revision().to_string()},
            "items": deleted,
        });
        Ok(Outcome::changed(list))
    }
}

fn success(request: &RequestInfo, object: &Value) -> Value {
    let mut details =
        json!({"name": object::name(object), "kind": request.resource.plural, "uid": object::uid(object)});
    if !request.resource.group.is_empty() {
        details["group"] = request.resource.group.clone().into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

fn check_preconditions(request: &RequestInfo, existing: &Existing, deletion: &Deletion) -> Result<()> {
    let found = [
        (
            "UID",
            "deleted and then recreated",
            &deletion.uid,
            object::uid(&existing.object),
        ),
        (
            "ResourceVersion",
            "modified",
            &deletion.resource_version,
            object::resource_version(&existing.object),
        ),
    ];
    for (what, happened, desired, existing) in found {
        if let Some(desired) = desired.as_deref().filter(|desired| *desired != existing) {
            let why = format!(
                "the {what} in the precondition ({desired}) does not match the {what} in record ({existing}). The object might have \
                 been {happened}"
            );
            return Err(ApiError::conflict(
                request.resource.kind_subject(),
                &request.name,
                why,
            ));
        }
    }
    Ok(())
}

fn step(request: &RequestInfo, old: &Value, propagation: Propagation) -> Step {
    let mut finalizers: Vec<&str> = object::finalizers(old);
    let is_terminating = object::is_terminating(old);
    if !is_terminating {
        finalizers.retain(|name| !matches!(*name, FOREGROUND | ORPHAN));
    }
    let desired = match propagation {
        Propagation::Background => None,
        Propagation::Foreground => Some(FOREGROUND),
        Propagation::Orphan => Some(ORPHAN),
    };
    if let Some(desired) = desired.filter(|desired| !finalizers.contains(desired)) {
        finalizers.push(desired);
    }
    let is_held = is_held(request, old);
    let mut new = old.clone();
    let metadata = object::metadata_mut(&mut new);
    if finalizers.is_empty() && !is_held {
        metadata.remove("finalizers");
        return Step::Remove(new);
    }
    if is_terminating && finalizers == object::finalizers(old) {
        return Step::Nothing;
    }
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), json!(finalizers));
    }
    if !is_terminating {
        metadata.insert("deletionTimestamp".into(), object::now().into());
        if request.resource.strategy != Strategy::Namespace {
            metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
        }
        let generation = object::generation(old);
        if generation > 0 {
            object::metadata_mut(&mut new).insert("generation".into(), (generation + 1).into());
        }
        if request.resource.strategy == Strategy::Namespace {
            object::member_mut(&mut new, "status").insert("phase".into(), "Terminating".into());
        }
    }
    Step::Mark(new)
}
