//! One conditional write, as etcd's transactions compare and put.

use std::sync::Arc;

use serde_json::Value;

use super::change::Change;
use super::records::{Key, Revision, Stored};
use crate::object;

/// The precondition of a write. If it does not hold, nothing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Absent,
    /// The object as this revision wrote it.
    At(Revision),
}

/// Creates, replaces or deletes one object.
#[derive(Debug, Clone)]
pub struct Write {
    pub key: Key,
    pub expected: Expected,
    /// The previous version with its parsed document: watches that select by labels or fields compare with it.
    pub previous: Option<(Stored, Value)>,
    /// The new content; for a deletion the last content. `metadata.resourceVersion` is filled in.
    pub object: Value,
    /// True to delete the object.
    pub deletes: bool,
}

/// The outcome of a write.
#[derive(Debug)]
pub enum Written {
    /// Committed: the change, and the object as stored.
    Done(Arc<Change>, Value),
    /// The precondition did not hold; nothing was written.
    Unexpected,
}

/// The uids of an object's owners, sorted, without duplicates.
pub(super) fn owner_uids(object: &Value) -> Vec<&str> {
    let uids = object::owner_references(object).filter_map(|owner| owner.get("uid").and_then(Value::as_str));
    let mut uids: Vec<&str> = uids.collect();
    uids.sort_unstable();
    uids.dedup();
    uids
}
