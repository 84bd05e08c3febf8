//! A request after path, query and caller are parsed.

use std::sync::Arc;

use http::{HeaderMap, header};
use serde_json::Value;

use super::caller::Caller;
use super::options::Options;
use crate::error::ApiError;
use crate::fields::{Manager, Operation};
use crate::resources::Resource;

/// Removes from an object what read-only callers may not see.
pub type Hide = fn(&mut Value);

/// The object or collection that a request reads or writes, as `RequestInfo` and the `RequestScope` of an API
/// server.
#[derive(Debug, Clone)]
pub struct RequestInfo {
    pub resource: Arc<Resource>,
    /// Empty for all namespaces and for cluster-scoped resources.
    pub namespace: String,
    /// Empty for the collection.
    pub name: String,
    /// `status`, `scale`, ... or empty.
    pub subresource: String,
    pub options: Options,
    pub caller: Caller,
    /// Removes what the caller may not see of objects; `None`: the caller may see everything.
    pub hides: Option<Hide>,
    /// The field manager: the name under which managed fields record the write.
    pub manager: String,
    pub is_patch: bool,
}

impl RequestInfo {
    /// A request of the server itself.
    pub fn internal(resource: Arc<Resource>, namespace: &str, name: &str) -> Self {
        Self {
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: String::new(),
            options: Options::default(),
            caller: Caller::administrator(),
            hides: None,
            manager: "kube-api".into(),
            is_patch: false,
        }
    }

    /// A stored object as the caller sees it, in the requested version.
    pub fn served(&self, stored: Value) -> Value {
        let mut served = self.resource.served(stored);
        if let Some(hide) = self.hides {
            hide(&mut served);
        }
        served
    }

    /// True when the caller is sent documents as they are stored.
    pub fn serves_stored(&self) -> bool {
        self.resource.is_stored_as_served && self.hides.is_none()
    }

    /// The manager of the fields that the request writes.
    pub fn manager(&self, operation: Operation) -> Manager {
        Manager {
            name: self.manager.clone(),
            operation,
            api_version: self.resource.api_version(),
            subresource: self.subresource.clone(),
        }
    }

    pub fn not_found(&self) -> ApiError {
        ApiError::not_found(self.resource.subject(), &self.name)
    }

    /// 409: another client wrote the object in between.
    pub fn modified_meanwhile(&self) -> ApiError {
        ApiError::modified_meanwhile(self.resource.subject(), &self.name)
    }
}

/// The field manager of a request: `fieldManager` of the query, otherwise the program's name in `User-Agent`.
pub fn field_manager(options: &Options, headers: &HeaderMap) -> String {
    if !options.field_manager.is_empty() {
        return options.field_manager.clone();
    }
    let agent = headers
        .get(header::USER_AGENT)
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or("unknown");
    let program = agent.split('/').next().unwrap_or_default();
    if program.is_empty() {
        "unknown".to_owned()
    } else {
        program.chars().take(128).collect()
    }
}
