//! The recent changes in memory, in the order of their revisions: what watches are fed from.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use serde_json::{Map, Value};
use tokio::sync::{Notify, watch};

use crate::object;
use crate::storage::{Key, Revision};

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is different.
    Modified,
    /// It is gone.
    Deleted,
}

impl ChangeKind {
    /// As watches say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }

    /// The reverse of [`ChangeKind::name`]; what is unknown counts as a modification.
    pub fn named(name: &str) -> Self {
        match name {
            "ADDED" => Self::Added,
            "DELETED" => Self::Deleted,
            _ => Self::Modified,
        }
    }
}

/// One write.
#[derive(Debug)]
pub struct Change {
    /// Its number.
    pub revision: Revision,
    /// What it did.
    pub kind: ChangeKind,
    /// To which object.
    pub key: Key,
    /// The object afterwards; of a deletion the last content.
    pub document: Arc<str>,
    previous: Option<Arc<str>>,
    summary: OnceLock<Value>,
    previous_summary: OnceLock<Option<Value>>,
}

/// Only the metadata of an object, without managed fields: enough for most who look, and small enough to be kept parsed.
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

/// Null if the document is no JSON, which only a damaged database can bring about.
fn parsed(document: &str) -> Value {
    serde_json::from_str(document).unwrap_or_default()
}

impl Change {
    /// A change whose documents are parsed when somebody looks into them.
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

    /// With what is known of the documents already.
    pub(crate) fn seen(self, object: &Value, previous: Option<&Value>) -> Self {
        Self {
            summary: summary(object).into(),
            previous_summary: previous.map(summary).into(),
            ..self
        }
    }

    /// The metadata of the object afterwards, without managed fields.
    pub fn summary(&self) -> &Value {
        self.summary.get_or_init(|| summary(&parsed(&self.document)))
    }

    /// The metadata of the object before, if there was one.
    pub fn previous_summary(&self) -> Option<&Value> {
        let parse = || {
            self.previous
                .as_deref()
                .map(|document| summary(&parsed(document)))
        };
        self.previous_summary.get_or_init(parse).as_ref()
    }

    /// The object afterwards.
    pub fn object(&self) -> Value {
        parsed(&self.document)
    }

    /// The object before, if there was one.
    pub fn previous_object(&self) -> Option<Value> {
        self.previous.as_deref().map(parsed)
    }

    fn size(&self) -> usize {
        self.document.len() + self.previous.as_ref().map_or(0, |previous| previous.len())
    }
}

/// So much is kept in memory; whoever is further behind reads from the database.
const MOST_CHANGES: usize = 16_384;
/// Bytes of documents.
const MOST_BYTES: usize = 32 << 20;

/// Recent changes without gaps.
#[derive(Debug)]
pub struct ChangeLog {
    recent: Mutex<Recent>,
    latest: watch::Sender<Revision>,
    gap: Notify,
}

#[derive(Debug)]
struct Recent {
    /// Without gaps; the last one has the revision `latest`.
    changes: VecDeque<Arc<Change>>,
    bytes: usize,
    latest: Revision,
    /// Committed after a change that has not arrived yet.
    early: BTreeMap<Revision, Arc<Change>>,
}

impl ChangeLog {
    /// Nothing is known of what is at or before this revision.
    pub fn starting_after(revision: Revision) -> Self {
        Self {
            recent: Mutex::new(Recent {
                changes: VecDeque::new(),
                bytes: 0,
                latest: revision,
                early: BTreeMap::new(),
            }),
            latest: watch::Sender::new(revision),
            gap: Notify::new(),
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        // Nothing in this file can panic while it holds the lock.
        self.recent
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Takes in a committed change; such that are known already are passed over.
    pub fn offer(&self, change: Arc<Change>) {
        let mut recent = self.recent();
        if change.revision <= recent.latest {
            return;
        }
        recent.early.insert(change.revision, change);
        let before = recent.latest;
        loop {
            let next = recent.latest + 1;
            let Some(change) = recent.early.remove(&next) else {
                break;
            };
            recent.latest = next;
            recent.bytes += change.size();
            recent.changes.push_back(change);
        }
        while recent.changes.len() > MOST_CHANGES || recent.bytes > MOST_BYTES {
            let Some(oldest) = recent.changes.pop_front() else {
                break;
            };
            recent.bytes -= oldest.size();
        }
        let (latest, has_gap) = (recent.latest, !recent.early.is_empty());
        drop(recent);
        if latest > before {
            self.latest.send_replace(latest);
        }
        if has_gap {
            self.gap.notify_one();
        }
    }

    /// Takes in changes as they were read from the database, in their order. What is missing before one of them has been compacted
    /// there, so nobody can be told of it any more.
    pub fn offer_read(&self, changes: Vec<Arc<Change>>) {
        for change in changes {
            let mut recent = self.recent();
            if change.revision > recent.latest + 1 {
                recent.changes.clear();
                recent.bytes = 0;
                recent.latest = change.revision - 1;
            }
            drop(recent);
            self.offer(change);
        }
    }

    /// Drops the changes at and before a revision.
    pub fn forget(&self, revision: Revision) {
        let mut recent = self.recent();
        while let Some(oldest) = recent.changes.pop_front_if(|oldest| oldest.revision <= revision) {
            recent.bytes -= oldest.size();
        }
    }

    /// The last revision of the log.
    pub fn latest(&self) -> Revision {
        *self.latest.borrow()
    }

    /// Tells when the log grows.
    pub fn growth(&self) -> watch::Receiver<Revision> {
        self.latest.subscribe()
    }

    /// Returns when a change is missing that must be read from the database.
    pub async fn gap(&self) {
        self.gap.notified().await;
    }

    /// Whether a change is missing now.
    pub fn has_gap(&self) -> bool {
        !self.recent().early.is_empty()
    }

    /// The changes after a revision, or nothing when the log does not reach back so far.
    pub fn after(&self, revision: Revision) -> Option<Vec<Arc<Change>>> {
        let recent = self.recent();
        if revision >= recent.latest {
            return Some(Vec::new());
        }
        let first = recent.changes.front()?.revision;
        if revision + 1 < first {
            return None;
        }
        let skip = usize::try_from(revision + 1 - first).ok()?;
        Some(recent.changes.range(skip..).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(revision: Revision) -> Arc<Change> {
        let key = Key {
            resource: "secrets".into(),
            namespace: "n".into(),
            name: "s".into(),
        };
        Arc::new(Change::new(
            revision,
            ChangeKind::Modified,
            key,
            "{}".into(),
            None,
        ))
    }

    fn revisions(log: &ChangeLog, after: Revision) -> Option<Vec<Revision>> {
        log.after(after)
            .map(|changes| changes.iter().map(|change| change.revision).collect())
    }

    #[test]
    fn a_change_that_comes_early_waits_for_the_one_before() {
        let log = ChangeLog::starting_after(4);
        log.offer(change(6));
        assert_eq!((log.latest(), revisions(&log, 4)), (4, Some(vec![])));
        log.offer(change(5));
        assert_eq!((log.latest(), revisions(&log, 4)), (6, Some(vec![5, 6])));
        log.offer(change(5));
        assert_eq!(revisions(&log, 5), Some(vec![6]));
    }

    #[test]
    fn changes_that_were_read_may_leave_out_compacted_ones() {
        let log = ChangeLog::starting_after(4);
        log.offer(change(9));
        log.offer_read(vec![change(7), change(8)]);
        assert_eq!((log.latest(), revisions(&log, 6)), (9, Some(vec![7, 8, 9])));
        assert_eq!(revisions(&log, 4), None);
    }

    #[test]
    fn what_is_older_than_the_log_is_not_answered() {
        let log = ChangeLog::starting_after(4);
        log.offer(change(5));
        assert_eq!(revisions(&log, 3), None);
        for revision in 6..6 + MOST_CHANGES as u64 {
            log.offer(change(revision));
        }
        assert_eq!(revisions(&log, 4), None);
        assert_eq!(revisions(&log, 5).map(|found| found.len()), Some(MOST_CHANGES));
    }
}
