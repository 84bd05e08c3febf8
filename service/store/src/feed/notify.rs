//! Calls subscribers in this process when records change: after a commit here, and when PostgreSQL notifies of a commit elsewhere
//! ([`listen`](super::listen)). It costs no statement.
//!
//! Notifications are lost when the process ends, and those for other replicas while notifications are not received. The
//! [outbox](super::outbox) loses nothing.

use std::sync::{PoisonError, RwLock};

use sqlx::{Any, Transaction};

use super::subject::Subject;
use crate::Result;
use crate::statement::commit;
use crate::store::Store;

/// A record that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordChange {
    /// The record; it may be deleted.
    pub subject: Subject,
    /// As in [`OutboxEntry`](crate::OutboxEntry); 0 where it is not known.
    pub version: i64,
}

#[derive(Default)]
pub(crate) struct Subscribers(RwLock<Vec<Callback>>);

type Callback = Box<dyn Fn(RecordChange) + Send + Sync>;

impl Subscribers {
    fn add(&self, callback: Callback) {
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(callback);
    }

    pub(crate) fn notify(&self, change: RecordChange) {
        for callback in self.0.read().unwrap_or_else(PoisonError::into_inner).iter() {
            callback(change);
        }
    }
}

/// Changes of a transaction that is not yet committed.
#[derive(Default)]
#[must_use]
pub(crate) struct PendingChanges(Vec<RecordChange>);

impl PendingChanges {
    pub(crate) fn add(&mut self, subject: Subject, version: i64) {
        self.0.push(RecordChange { subject, version });
    }

    /// Commits, then notifies.
    pub(crate) async fn commit(self, transaction: Transaction<'static, Any>, store: &Store) -> Result<()> {
        commit(transaction).await?;
        for change in self.0 {
            store.subscribers().notify(change);
        }
        Ok(())
    }
}

impl Store {
    /// Calls `callback` for every record that changes from now on, here or in other replicas; a change may be reported twice.
    /// Writers wait for it, so it must not block.
    pub fn on_change(&self, callback: impl Fn(RecordChange) + Send + Sync + 'static) {
        self.subscribers().add(Box::new(callback));
    }

    /// True while changes of other replicas are received.
    pub fn has_notifications(&self) -> bool {
        self.polled().is_trusted()
    }
}
