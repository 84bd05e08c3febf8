//! Records who requested which change, for the operators of the service.
//!
//! An entry costs a place in memory; several are written at once (`jobs::audit`), and no request waits for it. What a replica has recorded
//! and not written is lost if it is killed; its log has the same changes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use muster_api::audit::AuditedChange;
use muster_store::{AuditEntry, AuditPart, Store, StoreError};
use tokio::time::timeout;

use crate::chain;

/// Entries that wait to be written. While the database is away more are counted and not kept.
const MOST_UNWRITTEN: usize = 4096;

/// Longest time in which a reader waits for others that write. While the database hangs each would wait for all before.
const PATIENCE: Duration = Duration::from_secs(1);

/// The audit of one replica.
pub struct Audit {
    store: Store,
    /// Entries that are kept of all replicas; `None`: all.
    most: Option<u32>,
    unwritten: Mutex<VecDeque<AuditEntry>>,
    /// Entries that were not kept since [`Self::take_lost`].
    lost: AtomicU64,
    /// Held while entries are written, which keeps their order.
    writing: tokio::sync::Mutex<()>,
}

impl Audit {
    pub(crate) fn new(store: Store, most: Option<u32>) -> Self {
        Self {
            store,
            most,
            unwritten: Mutex::default(),
            lost: AtomicU64::default(),
            writing: tokio::sync::Mutex::default(),
        }
    }

    fn unwritten(&self) -> MutexGuard<'_, VecDeque<AuditEntry>> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an entry, which is written soon.
    pub fn note(&self, entry: AuditEntry) {
        let mut unwritten = self.unwritten();
        if unwritten.len() < MOST_UNWRITTEN {
            unwritten.push_back(entry);
        } else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            metrics::counter!("muster_audit_entries_lost_total").increment(1);
        }
    }

    /// Number of the entries that were not kept since the last call.
    pub fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }

    /// Number of the recorded entries that are not written yet.
    pub fn waiting(&self) -> usize {
        self.unwritten().len()
    }

    /// Writes the recorded entries. Those that could not be written are kept for the next time.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn write(&self) -> Result<(), StoreError> {
        let _one = self.writing.lock().await;
        self.write_recorded().await
    }

    /// The same for the holder of `writing`.
    async fn write_recorded(&self) -> Result<(), StoreError> {
        let taken = self.unwritten().len();
        if taken == 0 {
            return Ok(());
        }
        let entries: Vec<AuditEntry> = self.unwritten().iter().take(taken).cloned().collect();
        self.store.add_audit_entries(&entries, self.most).await?;
        self.unwritten().drain(..taken);
        Ok(())
    }

    /// The entries of a part, at most `most`, in the order of their numbers; and whether there are more. Those that this replica has recorded
    /// are among them, unless they cannot be written now.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn read(
        self: &Arc<Self>,
        part: AuditPart,
        most: usize,
    ) -> Result<(Vec<AuditedChange>, bool), StoreError> {
        let own = Arc::clone(self);
        // In a task of its own: after a client that went away in the middle, entries would be written twice.
        let written = tokio::spawn(async move {
            match timeout(PATIENCE, own.writing.lock()).await {
                Ok(_one) => own.write_recorded().await,
                Err(_) => Ok(()),
            }
        });
        if let Ok(Err(error)) = written.await {
            tracing::debug!(error = %chain(&error), "the last entries of the audit are not written yet");
        }
        self.store.audit_entries(part, most).await
    }
}

#[cfg(test)]
mod tests {
    use muster_store::AuditedObject;

    use super::*;
    use crate::{now, testing};

    fn entry(operation: &str) -> AuditEntry {
        AuditEntry {
            at: now(),
            request_id: "r".into(),
            who: "ci".into(),
            token_id: None,
            session_id: None,
            method: "POST".into(),
            operation: operation.into(),
            object: AuditedObject::default(),
            status: 200,
        }
    }

    #[tokio::test]
    async fn what_is_recorded_is_read_in_its_order_and_the_newest_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let audit = Arc::new(Audit::new(testing::store(folder.path()).await, Some(3)));
        for number in 1..=2 {
            audit.note(entry(&number.to_string()));
        }
        assert_eq!(audit.waiting(), 2);
        audit.write().await.unwrap();
        assert_eq!(audit.waiting(), 0);
        for number in 3..=5 {
            audit.note(entry(&number.to_string()));
        }
        let (entries, more) = audit.read(AuditPart::After(0), 10).await.unwrap();
        let found: Vec<(i64, &str)> = entries
            .iter()
            .map(|one| (one.number, one.operation.as_str()))
            .collect();
        assert_eq!(found, [(3, "3"), (4, "4"), (5, "5")]);
        assert!(!more);
    }

    #[tokio::test]
    async fn a_reader_does_not_wait_for_a_write_that_hangs() {
        let folder = tempfile::tempdir().unwrap();
        let audit = Arc::new(Audit::new(testing::store(folder.path()).await, None));
        audit.note(entry("first"));
        let hangs = audit.writing.lock().await;
        let (entries, more) = audit.read(AuditPart::Newest, 10).await.unwrap();
        assert_eq!((entries.len(), more, audit.waiting()), (0, false, 1));
        drop(hangs);
        let (entries, _) = audit.read(AuditPart::Newest, 10).await.unwrap();
        assert_eq!((entries.len(), audit.waiting()), (1, 0));
    }

    #[tokio::test]
    async fn a_database_that_is_away_loses_what_memory_has_no_place_for() {
        let folder = tempfile::tempdir().unwrap();
        let store = testing::store(folder.path()).await;
        let audit = Audit::new(store.clone(), None);
        audit.note(entry("first"));
        store.close().await;
        audit.write().await.unwrap_err();
        assert_eq!(audit.waiting(), 1);
        for _ in 0..MOST_UNWRITTEN {
            audit.note(entry("later"));
        }
        assert_eq!(audit.waiting(), MOST_UNWRITTEN);
        assert_eq!((audit.take_lost(), audit.take_lost()), (1, 0));
    }
}
