//! What happens after a deletion: what an object owned goes, and what was in a namespace.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::crd;
use crate::error::Result;
use crate::log::{Change, ChangeKind};
use crate::object;
use crate::read::Need;
use crate::request::Propagation;
use crate::server::Server;
use crate::storage::{Key, ListQuery, Revision, parse};
use crate::write::Ask;
use crate::write::delete::{Deletion, FOREGROUND, ORPHAN};

/// After this a piece of work that failed is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// Changes that are read from the database at once.
const CHUNK: usize = 500;

/// Something to look at. Looking twice does no harm.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    /// Are its owners still there?
    Owned(Key),
    /// It is being deleted, and what it owns goes first or is let go.
    Owner(Key),
    /// It has been deleted: the uid.
    Gone(String),
    /// It is being deleted.
    Namespace(String),
    /// Objects of a CRD that is being deleted: the name that they are kept under, which is the CRD's.
    Definition(String),
}

/// Works until the server stops.
pub async fn run(server: Arc<Server>) {
    let mut growth = server.log.growth();
    let mut cursor = server.log.latest();
    let mut work = BTreeSet::new();
    // What happened while nobody was here is found by looking at all that has owners, and all namespaces.
    while let Err(error) = begin(&server, &mut work).await {
        tracing::warn!(%error, "what is to be collected cannot be read; trying again");
        tokio::select! {
            () = server.stop.cancelled() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
    loop {
        let mut failed = BTreeSet::new();
        for piece in std::mem::take(&mut work) {
            if let Err(error) = carry_out(&server, &piece).await {
                tracing::warn!(%error, ?piece, "collecting failed; trying again");
                failed.insert(piece);
            }
        }
        let has_failed = !failed.is_empty();
        work = failed;
        match news(&server, &mut cursor).await {
            Ok(changes) if changes.is_empty() => {}
            Ok(changes) => {
                changes.iter().for_each(|change| note(change, &mut work));
                continue;
            }
            Err(error) => tracing::warn!(%error, "changes cannot be read; trying again"),
        }
        tokio::select! {
            () = server.stop.cancelled() => return,
            () = tokio::time::sleep(PAUSE), if has_failed => {}
            grown = growth.changed() => if grown.is_err() { return },
        }
    }
}

async fn begin(server: &Server, work: &mut BTreeSet<Work>) -> Result<()> {
    work.extend(server.storage.owned().await?.into_iter().map(Work::Owned));
    let ask = server.own_ask("", "v1", "namespaces", "", "")?;
    for namespace in server.selected(&ask, &Need::Objects).await?.objects {
        if object::is_terminating(&namespace) {
            work.insert(Work::Namespace(object::name(&namespace).to_owned()));
        }
    }
    let ask = server.own_ask("apiextensions.k8s.io", "v1", "customresourcedefinitions", "", "")?;
    for definition in server.selected(&ask, &Need::Objects).await?.objects {
        if object::is_terminating(&definition) {
            work.insert(Work::Definition(object::name(&definition).to_owned()));
        }
    }
    Ok(())
}

async fn news(server: &Server, cursor: &mut Revision) -> Result<Vec<Arc<Change>>> {
    let changes = match server.log.after(*cursor) {
        Some(changes) => changes,
        None => server.storage.changes_after(*cursor, CHUNK).await?,
    };
    if let Some(last) = changes.last() {
        *cursor = last.revision;
    }
    Ok(changes)
}

/// What a change makes worth a look.
fn note(change: &Change, work: &mut BTreeSet<Work>) {
    let object = change.summary();
    let is_namespace = &*change.key.resource == "namespaces";
    if change.kind == ChangeKind::Deleted {
        work.insert(Work::Gone(object::uid(object).to_owned()));
        // Its namespace may be empty now, its owner may wait for it.
        work.insert(Work::Namespace(change.key.namespace.clone()));
        work.insert(Work::Definition(change.key.resource.to_string()));
        for owner in object::owner_references(object) {
            let text = |member: &str| {
                owner
                    .get(member)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            if owner.get("blockOwnerDeletion").and_then(Value::as_bool) == Some(true) {
                // By kind, which is resolved when it is looked at.
                work.insert(Work::Owner(Key {
                    resource: format!("{} {}", text("apiVersion"), text("kind")).into(),
                    namespace: change.key.namespace.clone(),
                    name: text("name"),
                }));
            }
        }
        return;
    }
    if object::owner_references(object).next().is_some() {
        let owners = |object: &Value| {
            object::metadata(object).and_then(|metadata| metadata.get("ownerReferences").cloned())
        };
        if change.previous_summary().and_then(owners) != owners(object) {
            work.insert(Work::Owned(change.key.clone()));
        }
    }
    if object::is_terminating(object) {
        if is_namespace {
            work.insert(Work::Namespace(change.key.name.clone()));
        }
        if &*change.key.resource == crd::STORAGE_NAME {
            work.insert(Work::Definition(change.key.name.clone()));
        }
        if object::finalizers(object)
            .iter()
            .any(|name| matches!(*name, FOREGROUND | ORPHAN))
        {
            work.insert(Work::Owner(change.key.clone()));
        }
    }
}

async fn carry_out(server: &Server, work: &Work) -> Result<()> {
    match work {
        Work::Owned(key) => check_owners(server, key).await,
        Work::Owner(key) => release_owner(server, key).await,
        Work::Gone(uid) => {
            for key in server.storage.owned_by(uid).await? {
                check_owners(server, &key).await?;
            }
            Ok(())
        }
        Work::Namespace(name) if name.is_empty() => Ok(()),
        Work::Namespace(name) => empty_namespace(server, name).await,
        Work::Definition(name) => empty_definition(server, name).await,
    }
}

fn ask_for(server: &Server, key: &Key) -> Option<Ask> {
    let registry = server.registry();
    let resource = match key.resource.split_once(' ') {
        Some((api_version, kind)) => registry.of_kind(api_version, kind)?,
        None => registry.stored_as(&key.resource)?,
    };
    let namespace = if resource.namespaced {
        key.namespace.clone()
    } else {
        String::new()
    };
    let mut ask = server
        .own_ask(
            &resource.group,
            &resource.version,
            &resource.plural,
            &namespace,
            &key.name,
        )
        .ok()?;
    ask.manager = "garbage-collector".into();
    Some(ask)
}

/// Deletes an object whose owners are all gone; forgets the owners that are gone when some are left.
async fn check_owners(server: &Server, key: &Key) -> Result<()> {
    let Some(ask) = ask_for(server, key) else {
        return Ok(());
    };
    let Some(present) = server.present(&ask).await? else {
        return Ok(());
    };
    let mut gone = Vec::new();
    let mut count = 0;
    let mut waits = false;
    for owner in object::owner_references(&present.object) {
        let text = |member: &str| owner.get(member).and_then(Value::as_str).unwrap_or_default();
        count += 1;
        let owner_key = Key {
            resource: format!("{} {}", text("apiVersion"), text("kind")).into(),
            namespace: key.namespace.clone(),
            name: text("name").to_owned(),
        };
        // An owner of a kind that is not served here cannot be judged.
        let Some(owner_ask) = ask_for(server, &owner_key) else {
            continue;
        };
        match server.present(&owner_ask).await? {
            Some(found) if object::uid(&found.object) == text("uid") => {
                let is_first = object::finalizers(&found.object).contains(&FOREGROUND);
                waits |= is_first && object::is_terminating(&found.object);
            }
            _ => gone.push(text("uid").to_owned()),
        }
    }
    if gone.len() == count || (waits && count - gone.len() == 1) {
        if gone.is_empty() && !waits {
            return Ok(());
        }
        let deletion = Deletion {
            propagation: Some(if waits {
                Propagation::Foreground
            } else {
                Propagation::Background
            }),
            uid: Some(object::uid(&present.object).to_owned()),
            ..Deletion::default()
        };
        return ignoring_absence(server.delete(&ask, &deletion).await);
    }
    if gone.is_empty() {
        return Ok(());
    }
    drop_owners(server, &ask, &gone).await
}

async fn drop_owners(server: &Server, ask: &Ask, uids: &[String]) -> Result<()> {
    let outcome = server.change(ask, |present| {
        let mut object = present.clone();
        let metadata = object::metadata_mut(&mut object);
        if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
            owners.retain(|owner| !uids.iter().any(|uid| owner["uid"] == uid.as_str()));
        }
        Ok(object)
    });
    ignoring_absence(outcome.await)
}

fn ignoring_absence<T>(outcome: Result<T>) -> Result<()> {
    match outcome {
        Err(error) if matches!(error.reason(), "NotFound" | "Conflict") => Ok(()),
        outcome => outcome.map(drop),
    }
}

/// Does what an owner's finalizers of deletion ask for.
async fn release_owner(server: &Server, key: &Key) -> Result<()> {
    let Some(ask) = ask_for(server, key) else {
        return Ok(());
    };
    let Some(present) = server.present(&ask).await? else {
        return Ok(());
    };
    if !object::is_terminating(&present.object) {
        return Ok(());
    }
    let finalizers = object::finalizers(&present.object);
    let uid = object::uid(&present.object).to_owned();
    let done = if finalizers.contains(&ORPHAN) {
        for key in server.storage.owned_by(&uid).await? {
            if let Some(ask) = ask_for(server, &key) {
                drop_owners(server, &ask, std::slice::from_ref(&uid)).await?;
            }
        }
        ORPHAN
    } else if finalizers.contains(&FOREGROUND) {
        let mut blocks = false;
        for key in server.storage.owned_by(&uid).await? {
            check_owners(server, &key).await?;
            let Some(stored) = server.storage.get(&key).await? else {
                continue;
            };
            let owned = parse(&stored.document, stored.revision)?;
            blocks |= object::owner_references(&owned).any(|owner| {
                owner.get("uid").is_some_and(|owner| *owner == uid.as_str())
                    && owner.get("blockOwnerDeletion") == Some(&json!(true))
            });
        }
        if blocks {
            return Ok(());
        }
        FOREGROUND
    } else {
        return Ok(());
    };
    drop_finalizer(server, &ask, done).await
}

/// Deletes what is in a namespace that is being deleted; when nothing is left the namespace goes.
async fn empty_namespace(server: &Server, name: &str) -> Result<()> {
    let mut ask = server.own_ask("", "v1", "namespaces", "", name)?;
    let Some(present) = server.present(&ask).await? else {
        return Ok(());
    };
    if !object::is_terminating(&present.object) {
        return Ok(());
    }
    let mut is_empty = true;
    for key in server.storage.in_namespace(name).await? {
        is_empty = false;
        if let Some(ask) = ask_for(server, &key) {
            ignoring_absence(server.delete(&ask, &Deletion::default()).await)?;
        }
    }
    if !is_empty && !server.storage.in_namespace(name).await?.is_empty() {
        // The rest waits for finalizers; its end brings us here again.
        return Ok(());
    }
    ask.subresource = "finalize".into();
    let outcome = server.change(&ask, |present| {
        let mut object = present.clone();
        let rest: Vec<Value> = object::at(present, &["spec", "finalizers"])
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter(|name| *name != "kubernetes")
            .cloned()
            .collect();
        object["spec"]["finalizers"] = rest.into();
        Ok(object)
    });
    ignoring_absence(outcome.await)
}

/// Deletes the objects of a CRD that is being deleted; when none is left the CRD goes.
async fn empty_definition(server: &Server, name: &str) -> Result<()> {
    let ask = server.own_ask(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "",
        name,
    )?;
    let Some(present) = server.present(&ask).await? else {
        return Ok(());
    };
    if !object::is_terminating(&present.object) {
        return Ok(());
    }
    let query = ListQuery {
        resource: name.into(),
        namespace: None,
        name: None,
        after: None,
        limit: None,
        at: None,
        counts: false,
    };
    for stored in server.storage.list(query.clone()).await?.objects {
        if let Some(ask) = ask_for(server, &stored.key) {
            ignoring_absence(server.delete(&ask, &Deletion::default()).await)?;
        }
    }
    if !server.storage.list(query).await?.objects.is_empty() {
        // The rest waits for finalizers; its end brings us here again.
        return Ok(());
    }
    drop_finalizer(server, &ask, crd::CLEANUP).await
}

async fn drop_finalizer(server: &Server, ask: &Ask, done: &str) -> Result<()> {
    let outcome = server.change(ask, |present| {
        let mut object = present.clone();
        let rest: Vec<&str> = object::finalizers(present)
            .into_iter()
            .filter(|name| *name != done)
            .collect();
        object::metadata_mut(&mut object).insert("finalizers".into(), json!(rest));
        Ok(object)
    });
    ignoring_absence(outcome.await)
}
