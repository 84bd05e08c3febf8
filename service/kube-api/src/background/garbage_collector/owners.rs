//! Owner references: dependents are deleted after their owners, before them (foreground), or released
//! (orphan).

use serde_json::{Value, json};

use super::work::{owner_key, request_for};
use crate::error::Result;
use crate::object;
use crate::request::{Propagation, RequestInfo};
use crate::server::Server;
use crate::storage::Key;
use crate::write::{Deletion, FOREGROUND, ORPHAN};

/// Checks the owners of everything that a deleted object owned.
pub async fn check_dependents(server: &Server, owner_uid: &str) -> Result<()> {
    for key in server.storage.owned_by(owner_uid).await? {
        check_owners(server, &key).await?;
    }
    Ok(())
}

/// Deletes an object when all of its owners are gone; drops the references to missing owners when others are left.
pub async fn check_owners(server: &Server, key: &Key) -> Result<()> {
    let Some(request) = request_for(server, key) else {
        return Ok(());
    };
    let Some(existing) = server.existing(&request).await? else {
        return Ok(());
    };
    let owners = owners_of(server, &existing.object, &key.namespace).await?;
    let left = owners.count - owners.gone.len();
    let waits_for_dependents = owners.deletes_in_foreground;
    if left == 0 || (waits_for_dependents && left == 1) {
        let propagation = match waits_for_dependents {
            true => Propagation::Foreground,
            false => Propagation::Background,
        };
        if owners.count == 0 {
            return Ok(());
        }
        let deletion = Deletion {
            propagation: Some(propagation),
            uid: Some(object::uid(&existing.object).to_owned()),
            ..Deletion::default()
        };
        return ignoring_absence(server.delete(&request, &deletion).await);
    }
    if owners.gone.is_empty() {
        return Ok(());
    }
    drop_owners(server, &request, &owners.gone).await
}

#[derive(Default)]
struct Owners {
    count: usize,
    /// The uids of owners that do not exist.
    gone: Vec<String>,
    /// True when an owner is being deleted and waits for its dependents.
    deletes_in_foreground: bool,
}

async fn owners_of(server: &Server, object: &Value, namespace: &str) -> Result<Owners> {
    let mut owners = Owners::default();
    for owner in object::owner_references(object) {
        owners.count += 1;
        // An owner of a kind that is not served here counts as existing.
        let Some(request) = request_for(server, &owner_key(owner, namespace)) else {
            continue;
        };
        // An object of the cluster cannot be owned by one of a namespace: the reference does not name the namespace.
        if request.resource.namespaced && namespace.is_empty() {
            continue;
        }
        let uid = owner.get("uid").and_then(Value::as_str).unwrap_or_default();
        match server.existing(&request).await? {
            Some(found) if object::uid(&found.object) == uid => {
                owners.deletes_in_foreground |= object::is_terminating(&found.object)
                    && object::finalizers(&found.object).contains(&FOREGROUND);
            }
            _ => owners.gone.push(uid.to_owned()),
        }
    }
    Ok(owners)
}

async fn drop_owners(server: &Server, request: &RequestInfo, uids: &[String]) -> Result<()> {
    let outcome = server.change(request, |existing| {
        let mut object = existing.clone();
        let metadata = object::metadata_mut(&mut object);
        if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
            owners.retain(|owner| !uids.iter().any(|uid| owner["uid"] == uid.as_str()));
        }
        Ok(object)
    });
    ignoring_absence(outcome.await)
}

/// Deletes or orphans the dependents of an owner that is being deleted, depending on its finalizer, and removes that finalizer.
pub async fn release_owner(server: &Server, key: &Key) -> Result<()> {
    let Some(request) = request_for(server, key) else {
        return Ok(());
    };
    let Some(existing) = server.existing(&request).await? else {
        return Ok(());
    };
    if !object::is_terminating(&existing.object) {
        return Ok(());
    }
    let finalizers = object::finalizers(&existing.object);
    let uid = object::uid(&existing.object).to_owned();
    if finalizers.contains(&ORPHAN) {
        for key in server.storage.owned_by(&uid).await? {
            if let Some(request) = request_for(server, &key) {
                drop_owners(server, &request, std::slice::from_ref(&uid)).await?;
            }
        }
        return drop_finalizer(server, &request, ORPHAN).await;
    }
    if finalizers.contains(&FOREGROUND) && !has_blocking_dependents(server, &uid).await? {
        return drop_finalizer(server, &request, FOREGROUND).await;
    }
    Ok(())
}

/// Deletes the dependents of an owner; true when some that block its deletion are left.
async fn has_blocking_dependents(server: &Server, owner_uid: &str) -> Result<bool> {
    let mut blocks = false;
    for key in server.storage.owned_by(owner_uid).await? {
        check_owners(server, &key).await?;
        let Some(stored) = server.storage.get(&key).await? else {
            continue;
        };
        blocks |= object::owner_references(&stored.object()?).any(|owner| {
            owner.get("uid").is_some_and(|owner| *owner == owner_uid)
                && owner.get("blockOwnerDeletion") == Some(&json!(true))
        });
    }
    Ok(blocks)
}

/// Removes a finalizer of an object.
pub async fn drop_finalizer(server: &Server, request: &RequestInfo, finalizer: &str) -> Result<()> {
    let outcome = server.change(request, |existing| {
        let mut object = existing.clone();
        let mut finalizers = object::finalizers(existing);
        finalizers.retain(|name| *name != finalizer);
        object::metadata_mut(&mut object).insert("finalizers".into(), json!(finalizers));
        Ok(object)
    });
    ignoring_absence(outcome.await)
}

/// Success also when the object is gone or was replaced by another.
pub fn ignoring_absence<T>(outcome: Result<T>) -> Result<()> {
    match outcome {
        Err(error) if matches!(error.reason(), "NotFound" | "Conflict") => Ok(()),
        outcome => outcome.map(drop),
    }
}
