//! Empties namespaces and CRDs that are being deleted.

use serde_json::Value;

use super::owners::{drop_finalizer, ignoring_absence};
use super::work::request_for;
use crate::error::Result;
use crate::object;
use crate::request::RequestInfo;
use crate::resources::crd;
use crate::server::Server;
use crate::storage::{Key, ListQuery};
use crate::write::Deletion;

/// Deletes the content of a namespace that is being deleted; when nothing is left, the namespace.
pub async fn empty_namespace(server: &Server, name: &str) -> Result<()> {
    let mut request = server.internal_request("", "namespaces", name)?;
    if !is_terminating(server, &request).await? {
        return Ok(());
    }
    delete_all(server, server.storage.in_namespace(name).await?).await?;
    if !server.storage.in_namespace(name).await?.is_empty() {
        // The rest waits for finalizers; each deletion enqueues the namespace again.
        return Ok(());
    }
    request.subresource = "finalize".into();
    let outcome = server.change(&request, |existing| {
        let mut object = existing.clone();
        let rest: Vec<Value> = object::at(existing, &["spec", "finalizers"])
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

/// Deletes the objects of a CRD that is being deleted; when none is left, the CRD.
pub async fn empty_definition(server: &Server, name: &str) -> Result<()> {
    let request = server.internal_request("apiextensions.k8s.io", "customresourcedefinitions", name)?;
    if !is_terminating(server, &request).await? {
        return Ok(());
    }
    // Objects of a CRD are stored under its name.
    let query = ListQuery::all(name);
    let stored = server.storage.list(query.clone()).await?.objects;
    delete_all(server, stored.into_iter().map(|stored| stored.key)).await?;
    if !server.storage.list(query).await?.objects.is_empty() {
        // The rest waits for finalizers; each deletion enqueues the CRD again.
        return Ok(());
    }
    drop_finalizer(server, &request, crd::CLEANUP).await
}

async fn is_terminating(server: &Server, request: &RequestInfo) -> Result<bool> {
    let existing = server.existing(request).await?;
    Ok(existing.is_some_and(|existing| object::is_terminating(&existing.object)))
}

async fn delete_all(server: &Server, keys: impl IntoIterator<Item = Key>) -> Result<()> {
    for key in keys {
        if let Some(request) = request_for(server, &key) {
            ignoring_absence(server.delete(&request, &Deletion::default()).await)?;
        }
    }
    Ok(())
}
