//! Stores the result of a write if the object has not changed since it was read.

use std::sync::Arc;

use serde_json::Value;

use crate::error::{ApiError, Result};
use crate::object;
use crate::request::RequestInfo;
use crate::server::Server;
use crate::storage::{Expected, Stored, Write, Written};

/// The response to a write.
#[derive(Debug)]
pub struct Outcome {
    /// True when the object did not exist before.
    pub created: bool,
    /// The object, or a `Status`.
    pub object: Value,
    /// The text of `object`, if it was written and is stored as it is served.
    pub document: Option<Arc<str>>,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
}

impl Outcome {
    /// The response to a change of an existing object, without warnings.
    pub fn changed(object: Value) -> Self {
        Self {
            created: false,
            object,
            document: None,
            warnings: Vec::new(),
        }
    }
}

/// The current version of an object.
#[derive(Debug)]
pub struct Existing {
    pub stored: Stored,
    /// In the version that is served.
    pub object: Value,
}

/// Attempts of a write while other clients write the same object.
pub const ATTEMPTS: usize = 20;
/// Maximum size of an object. Source: etcd's `--max-request-bytes`.
const MAX_BYTES: usize = 1_572_864;

impl Server {
    /// Reads the object that a request names.
    ///
    /// # Errors
    /// If the database does not respond.
    pub async fn existing(&self, request: &RequestInfo) -> Result<Option<Existing>> {
        let key = request.resource.key(&request.namespace, &request.name);
        let Some(stored) = self.storage.get(&key).await? else {
            return Ok(None);
        };
        let object = request.served(stored.object()?);
        Ok(Some(Existing { stored, object }))
    }

    /// Writes an object; `None` if another client wrote it in between.
    pub(super) async fn commit(
        &self,
        request: &RequestInfo,
        object: Value,
        existing: Option<Existing>,
        deletes: bool,
    ) -> Result<Option<Outcome>> {
        let stored = request.resource.as_stored(object);
        if object::json_length(&stored) > MAX_BYTES {
            return Err(ApiError::object_too_large());
        }
        let expected = existing.as_ref().map_or(Expected::Absent, |existing| {
            Expected::At(existing.stored.revision)
        });
        let previous = existing.map(|Existing { stored, object }| match request.resource.converter {
            Some(_) => stored.object().map(|object| (stored, object)),
            None => Ok((stored, request.resource.as_stored(object))),
        });
        let write = Write {
            key: request.resource.key(&request.namespace, object::name(&stored)),
            expected,
            previous: previous.transpose()?,
            object: stored,
            deletes,
        };
        match self.storage.write(write).await? {
            Written::Unexpected => Ok(None),
            Written::Done(change, object) => {
                let is_served = request.serves_stored();
                let document = is_served.then(|| change.document.clone());
                self.committed(change).await;
                Ok(Some(Outcome {
                    document,
                    ..Outcome::changed(request.served(object))
                }))
            }
        }
    }
}
