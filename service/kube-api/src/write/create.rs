//! POST: creates objects.

use serde_json::Value;

use super::checks::{
    check, check_place, complete, prune, revision_of, tidy_metadata, unqualified_finalizers,
};
use super::commit::Outcome;
use crate::error::{ApiError, Result, Subject};
use crate::fields::{Operation, managers};
use crate::object::{self, validation};
use crate::request::RequestInfo;
use crate::resources::Strategy;
use crate::server::Server;

/// Names tried for `generateName`. Source: `maxNameGenerationCreateAttempts`.
const NAME_ATTEMPTS: usize = 8;

impl Server {
    /// # Errors
    /// 400 and 422 for invalid content, 404 for a missing namespace, 409 for a name that is taken.
    pub async fn create(&self, request: &RequestInfo, object: Value) -> Result<Outcome> {
        let mut attempts = NAME_ATTEMPTS;
        loop {
            let mut new = object.clone();
            check_place(request, &mut new)?;
            let is_generated = name_it(&mut new);
            let mut warnings = prune(request, &mut new)?;
            warnings.extend(unqualified_finalizers(request, &new, None));
            let prepared = prepare_create(request, new)?;
            match self.store_new(request, prepared).await {
                Ok(outcome) => return Ok(Outcome { warnings, ..outcome }),
                Err(error) if is_generated && error.code() == 409 && attempts > 1 => attempts -= 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Stores a new object, made by [`prepare_create`] or by an apply.
    pub(super) async fn store_new(&self, request: &RequestInfo, mut object: Value) -> Result<Outcome> {
        let created = |outcome| Outcome {
            created: true,
            ..outcome
        };
        if object::metadata(&object).is_none_or(|metadata| !metadata.contains_key("managedFields")) {
            managers::on_update(
                &*request.resource,
                None,
                &mut object,
                &request.manager(Operation::Update),
            );
        }
        check(request, &object, None)?;
        self.check_namespace(request).await?;
        let name = object::name(&object).to_owned();
        if request.options.dry_run {
            let key = request.resource.key(&request.namespace, &name);
            return match self.storage.get(&key).await? {
                Some(_) => Err(ApiError::already_exists(request.resource.subject(), &name)),
                None => Ok(created(Outcome::changed(object))),
            };
        }
        let written = self.commit(request, object, None, false).await?;
        written
            .map(created)
            .ok_or_else(|| ApiError::already_exists(request.resource.subject(), &name))
    }

    /// Refuses namespaces that do not exist or are being deleted.
    async fn check_namespace(&self, request: &RequestInfo) -> Result<()> {
        if !request.resource.namespaced {
            return Ok(());
        }
        let namespaces = Subject {
            group: "",
            word: "namespaces",
        };
        match self.namespace_is_terminating(&request.namespace).await? {
            None => Err(ApiError::not_found(namespaces, &request.namespace)),
            Some(false) => Ok(()),
            Some(true) => Err(ApiError::forbidden(
                request.resource.subject(),
                &request.name,
                format!(
                    "unable to create new content in namespace {} because it is being terminated",
                    request.namespace
                ),
            )),
        }
    }
}

/// Sets the name if `generateName` is set; true when it did.
fn name_it(object: &mut Value) -> bool {
    if !object::name(object).is_empty() {
        return false;
    }
    let base = object::metadata_text(object, "generateName");
    if base.is_empty() {
        return false;
    }
    let name = validation::generated_name(base);
    object::metadata_mut(object).insert("name".into(), name.into());
    true
}

/// The object with the metadata and defaults of a new one.
pub(super) fn prepare_create(request: &RequestInfo, mut object: Value) -> Result<Value> {
    if revision_of(&object)?.is_some() {
        return Err(ApiError::revision_on_create());
    }
    if request.resource.has_status && request.resource.strategy != Strategy::Node {
        object::set_member(&mut object, "status", None);
    }
    let metadata = object::metadata_mut(&mut object);
    for member in [
        "resourceVersion",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "managedFields",
    ] {
        metadata.remove(member);
    }
    metadata.insert("uid".into(), uuid::Uuid::new_v4().to_string().into());
    metadata.insert("creationTimestamp".into(), object::now().into());
    if request.resource.has_generation() {
        metadata.insert("generation".into(), 1.into());
    }
    tidy_metadata(&mut object);
    complete(request, &mut object, None)?;
    Ok(object)
}
