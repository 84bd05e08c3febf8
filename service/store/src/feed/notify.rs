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
pub(crate) struct Subscribers {
    changes: RwLock<Vec<Callback<RecordChange>>>,
    gaps: RwLock<Vec<Callback<()>>>,
}

type Callback<T> = Box<dyn Fn(T) + Send + Sync>;

impl Subscribers {
    pub(crate) fn notify(&self, change: RecordChange) {
        call(&self.changes, change);
    }

    /// Notifies of changes that may have been missed.
    pub(crate) fn notify_of_gap(&self) {
        call(&self.gaps, ());
    }
}

fn add<T>(callbacks: &RwLock<Vec<Callback<T>>>, callback: Callback<T>) {
    let mut callbacks = callbacks.write().unwrap_or_else(PoisonError::into_inner);
    callbacks.push(callback);
}

fn call<T: Copy>(callbacks: &RwLock<Vec<Callback<T>>>, argument: T) {
    for callback in callbacks.read().unwrap_or_else(PoisonError::into_inner).iter() {
        callback(argument);
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
        add(&self.subscribers().changes, Box::new(callback));
    }

    /// Calls `callback` when changes of other replicas are received again, of which some may have been missed.
    pub fn on_gap(&self, callback: impl Fn() + Send + Sync + 'static) {
        add(&self.subscribers().gaps, Box::new(move |()| callback()));
    }

    /// True while changes of other replicas are received.
    pub fn has_notifications(&self) -> bool {
        self.polled().is_trusted()
    }
}
