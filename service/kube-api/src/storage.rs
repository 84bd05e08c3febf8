//! Where objects are kept: every write is one revision, and versions stay readable until they are compacted.

mod commit;
mod sql;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

pub use sql::{Database, SqlStorage};

use crate::glance::Parts;
use crate::log::Change;
use crate::object;

/// Counts writes; an object's `resourceVersion` is the revision that wrote it.
pub type Revision = u64;

/// Which object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// `secrets`, `agents.agent-install.openshift.io`.
    pub resource: Arc<str>,
    /// Empty for objects of the whole cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// An object as it is kept.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Which.
    pub key: Key,
    /// The revision that wrote it.
    pub revision: Revision,
    /// Its JSON, with `metadata.resourceVersion`, in the version of its kind that is stored.
    pub document: Arc<str>,
}

impl Stored {
    /// The parsed document.
    ///
    /// # Errors
    /// `Corrupt` when it is no JSON object.
    pub fn object(&self) -> Result<Value, StorageError> {
        parse(&self.document, self.revision)
    }

    /// Parts of it.
    ///
    /// # Errors
    /// `Corrupt` when it is no JSON.
    pub(crate) fn parts(&self, parts: &Parts) -> Result<Value, StorageError> {
        parts.read(&self.document).map_err(|error| StorageError::Corrupt {
            revision: self.revision,
            reason: error.to_string(),
        })
    }
}

/// Reads a stored document.
pub(crate) fn parse(document: &str, revision: Revision) -> Result<Value, StorageError> {
    serde_json::from_str(document).map_err(|error| StorageError::Corrupt {
        revision,
        reason: error.to_string(),
    })
}

/// What a write takes for granted. If it is otherwise nothing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// No such object.
    Absent,
    /// The object as this revision wrote it.
    At(Revision),
}

/// One write.
#[derive(Debug, Clone)]
pub struct Write {
    /// Which object.
    pub key: Key,
    /// What is there now.
    pub expected: Expected,
    /// The version before, and its parsed document: for watches that select by labels or fields.
    pub previous: Option<(Stored, Value)>,
    /// The new content; of a deletion the last content. `metadata.resourceVersion` is filled in.
    pub object: Value,
    /// Whether the object is gone afterwards.
    pub deletes: bool,
}

/// How a write went.
#[derive(Debug)]
pub enum Written {
    /// Committed: the change, and the object as it was stored.
    Done(Arc<Change>, Value),
    /// It is not as expected; nothing was written.
    Unexpected,
}

/// Part of a resource.
#[derive(Debug, Clone)]
pub struct ListQuery {
    /// `Key::resource`.
    pub resource: Arc<str>,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only this name.
    pub name: Option<String>,
    /// Only what comes after this namespace and name.
    pub after: Option<(String, String)>,
    /// How many at most.
    pub limit: Option<usize>,
    /// As it was then; otherwise as it is now.
    pub at: Option<Revision>,
    /// Whether it is also counted what is there without a limit (and not `at` a revision).
    pub counts: bool,
}

/// What a list found, ordered by namespace and name.
#[derive(Debug)]
pub struct Page {
    /// The revision that the objects are of.
    pub revision: Revision,
    /// What was compacted at that moment: older revisions cannot be read.
    pub compacted: Revision,
    /// The objects.
    pub objects: Vec<Stored>,
    /// How many there are without a limit, if that was asked for.
    pub total: Option<usize>,
}

/// The database cannot do it.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// It does not answer or refuses.
    #[error("{attempted}")]
    Unavailable {
        /// What was attempted.
        attempted: &'static str,
        /// Why not.
        source: Arc<sqlx::Error>,
    },
    /// What it holds cannot be read.
    #[error("the object written by revision {revision} cannot be read: {reason}")]
    Corrupt {
        /// Which version.
        revision: Revision,
        /// Why not.
        reason: String,
    },
}

/// What a storage answers.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StorageError>>;

/// Keeps objects.
pub trait Storage: Send + Sync + 'static {
    /// The present version of an object.
    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Stored>>;

    /// Objects of one moment.
    fn list(&self, query: ListQuery) -> Answer<'_, Page>;

    /// Carries out one write, if all is as it expects.
    fn write(&self, write: Write) -> Answer<'_, Written>;

    /// The changes after a revision, oldest first.
    fn changes_after(&self, revision: Revision, limit: usize) -> Answer<'_, Vec<Arc<Change>>>;

    /// The last revision, and what is compacted.
    fn revisions(&self) -> Answer<'_, (Revision, Revision)>;

    /// Forgets versions that were replaced at or before this revision.
    fn compact(&self, revision: Revision) -> Answer<'_, ()>;

    /// Objects with this owner.
    fn owned_by<'a>(&'a self, owner_uid: &'a str) -> Answer<'a, Vec<Key>>;

    /// Objects in a namespace, of all resources.
    fn in_namespace<'a>(&'a self, namespace: &'a str) -> Answer<'a, Vec<Key>>;

    /// Objects that have an owner, of all resources.
    fn owned(&self) -> Answer<'_, Vec<Key>>;

    /// Whether others write to the same database, so that changes must be looked for.
    fn is_shared(&self) -> bool;
}

/// The uids of an object's owners.
pub(crate) fn owner_uids(object: &Value) -> Vec<&str> {
    let uids = object::owner_references(object).filter_map(|owner| owner.get("uid").and_then(Value::as_str));
    let mut uids: Vec<&str> = uids.collect();
    uids.sort_unstable();
    uids.dedup();
    uids
}
