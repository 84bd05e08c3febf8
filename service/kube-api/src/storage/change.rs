//! One committed write, as watches see it.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::records::{Key, Revision};
use crate::object;

/// The type of a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

impl ChangeKind {
    /// `type` in watch events, and the column `change` of the database.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Total size of the documents in one batch of changes: a watch may have to serialize each of them again.
pub const BYTES_AT_ONCE: usize = 1 << 20;

/// Changes after a revision, oldest first.
#[derive(Debug)]
pub struct Changes {
    pub found: Vec<Arc<Change>>,
    /// The revision up to which they were looked for. Those that cannot be read are left out.
    pub to: Revision,
}

/// A committed write. Its documents are parsed when they are first needed.
#[derive(Debug)]
pub struct Change {
    pub revision: Revision,
    pub kind: ChangeKind,
    pub key: Key,
    /// The object after the write; for a deletion the last content.
    pub document: Arc<str>,
    previous: Option<Arc<str>>,
    summary: OnceLock<Value>,
    previous_summary: OnceLock<Option<Value>>,
}

/// The metadata of an object without managed fields: all that label selectors and the garbage collector need,
/// and small enough to be kept parsed.
fn summary(object: &Value) -> Value {
    let metadata = object::metadata(object)
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != "managedFields");
    let metadata: Map<String, Value> = metadata
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Value::Object(Map::from_iter([("metadata".to_owned(), metadata.into())]))
}

/// Null if the document is not JSON, which only a damaged database can cause.
fn parsed(document: &str) -> Value {
    serde_json::from_str(document).unwrap_or_default()
}

impl Change {
    pub fn new(
        revision: Revision,
        kind: ChangeKind,
        key: Key,
        document: Arc<str>,
        previous: Option<Arc<str>>,
    ) -> Self {
        Self {
            revision,
            kind,
            key,
            document,
            previous,
            summary: OnceLock::new(),
            previous_summary: OnceLock::new(),
        }
    }

    /// Fills the summaries from documents that were parsed already.
    pub fn with_parsed(self, object: &Value, previous: Option<&Value>) -> Self {
        Self {
            summary: summary(object).into(),
            previous_summary: previous.map(summary).into(),
            ..self
        }
    }

    /// The metadata of the object after the write, without managed fields.
    pub fn summary(&self) -> &Value {
        self.summary.get_or_init(|| summary(&parsed(&self.document)))
    }

    /// The metadata of the object before the write, if it existed.
    pub fn previous_summary(&self) -> Option<&Value> {
        let parse = || {
            self.previous
                .as_deref()
                .map(|document| summary(&parsed(document)))
        };
        self.previous_summary.get_or_init(parse).as_ref()
    }

    /// Parses the object after the write.
    pub fn object(&self) -> Value {
        parsed(&self.document)
    }

    /// Parses the object before the write, if it existed.
    pub fn previous_object(&self) -> Option<Value> {
        self.previous.as_deref().map(parsed)
    }

    /// Bytes of both documents.
    pub fn size(&self) -> usize {
        self.document.len() + self.previous.as_ref().map_or(0, |previous| previous.len())
    }
}
