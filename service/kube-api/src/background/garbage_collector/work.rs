//! The work queue of the garbage collector: what it checks after a change.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::object;
use crate::request::RequestInfo;
use crate::resources::crd;
use crate::server::Server;
use crate::storage::{Change, ChangeKind, Key};
use crate::write::{FOREGROUND, ORPHAN};

/// Something to check. Checking twice does no harm.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// An object with owners: it is deleted when all of them are gone.
    Owned(Key),
    /// An owner that is being deleted with the policy `Foreground` or `Orphan`.
    Owner(Key),
    /// The uid of a deleted object: its dependents are checked.
    Gone(String),
    /// A namespace, which may be being deleted.
    Namespace(String),
    /// A CRD, which may be being deleted.
    Definition(String),
}

/// Enqueues what a change affects.
pub fn enqueue(change: &Change, queue: &mut BTreeSet<Work>) {
    let object = change.summary();
    match change.kind {
        ChangeKind::Deleted => enqueue_deleted(change, queue),
        ChangeKind::Added | ChangeKind::Modified => {
            if owners_changed(change) {
                queue.insert(Work::Owned(change.key.clone()));
            }
            // An owner may have waited for a reference that is no longer there.
            let now: Vec<Key> = blocking_owners(object, &change.key.namespace).collect();
            let before = change.previous_summary().into_iter();
            let before = before.flat_map(|before| blocking_owners(before, &change.key.namespace));
            queue.extend(before.filter(|owner| !now.contains(owner)).map(Work::Owner));
            if object::is_terminating(object) {
                enqueue_terminating(change, queue);
            }
        }
    }
}

fn enqueue_deleted(change: &Change, queue: &mut BTreeSet<Work>) {
    let object = change.summary();
    queue.insert(Work::Gone(object::uid(object).to_owned()));
    // Its namespace or CRD may be empty now, its owner may wait for it.
    queue.insert(Work::Namespace(change.key.namespace.clone()));
    queue.insert(Work::Definition(change.key.resource.to_string()));
    queue.extend(blocking_owners(object, &change.key.namespace).map(Work::Owner));
}

/// The owners with a deletion that waits for an object.
fn blocking_owners<'a>(object: &'a Value, namespace: &'a str) -> impl Iterator<Item = Key> + 'a {
    object::owner_references(object)
        .filter(|owner| owner.get("blockOwnerDeletion").and_then(Value::as_bool) == Some(true))
        .map(|owner| owner_key(owner, namespace))
}

fn owners_changed(change: &Change) -> bool {
    let owners = |object: &Value| {
        object::metadata(object).and_then(|metadata| metadata.get("ownerReferences").cloned())
    };
    let object = change.summary();
    object::owner_references(object).next().is_some()
        && change.previous_summary().and_then(owners) != owners(object)
}

fn enqueue_terminating(change: &Change, queue: &mut BTreeSet<Work>) {
    match &*change.key.resource {
        "namespaces" => drop(queue.insert(Work::Namespace(change.key.name.clone()))),
        crd::STORAGE_NAME => drop(queue.insert(Work::Definition(change.key.name.clone()))),
        _ => {}
    }
    let finalizers = object::finalizers(change.summary());
    if finalizers.contains(&FOREGROUND) || finalizers.contains(&ORPHAN) {
        queue.insert(Work::Owner(change.key.clone()));
    }
}

/// The key of an owner. Its resource is `APIVERSION KIND`, which [`request_for`] resolves.
pub fn owner_key(owner: &Map<String, Value>, namespace: &str) -> Key {
    let text = |member: &str| owner.get(member).and_then(Value::as_str).unwrap_or_default();
    Key {
        resource: format!("{} {}", text("apiVersion"), text("kind")).into(),
        namespace: namespace.to_owned(),
        name: text("name").to_owned(),
    }
}

/// The collector's request for an object; `None` when its resource is not served.
pub fn request_for(server: &Server, key: &Key) -> Option<RequestInfo> {
    let registry = server.registry();
    let resource = match key.resource.split_once(' ') {
        Some((api_version, kind)) => registry.of_kind(api_version, kind)?,
        None => registry.stored_as(&key.resource)?,
    };
    let namespace = match resource.namespaced {
        true => key.namespace.as_str(),
        false => "",
    };
    let mut request = RequestInfo::internal(resource.clone(), namespace, &key.name);
    request.manager = "garbage-collector".into();
    Some(request)
}
