//! Keys and stored versions of objects.

use std::sync::Arc;

use serde_json::Value;

use super::error::StorageError;
use crate::object::Parts;

/// Counts writes, as etcd's revision does; an object's `resourceVersion` is the revision that wrote it.
pub type Revision = u64;

/// Identifies an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// `secrets`, `agents.agent-install.openshift.io`.
    pub resource: Arc<str>,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    pub name: String,
}

/// The stored version of an object.
#[derive(Debug, Clone)]
pub struct Stored {
    pub key: Key,
    /// The revision that wrote it.
    pub revision: Revision,
    /// JSON in the storage version of its kind, with `metadata.resourceVersion`.
    pub document: Arc<str>,
}

impl Stored {
    /// # Errors
    /// `Corrupt` when it is not valid JSON.
    pub fn object(&self) -> Result<Value, StorageError> {
        serde_json::from_str(&self.document).map_err(|error| self.corrupt(&error))
    }

    /// Parses parts of the document.
    ///
    /// # Errors
    /// `Corrupt` when it is not valid JSON.
    pub fn parts(&self, parts: &Parts) -> Result<Value, StorageError> {
        parts.read(&self.document).map_err(|error| self.corrupt(&error))
    }

    fn corrupt(&self, error: &serde_json::Error) -> StorageError {
        StorageError::Corrupt {
            revision: self.revision,
            reason: error.to_string(),
        }
    }
}
