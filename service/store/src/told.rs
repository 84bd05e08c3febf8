//! Telling whoever listens in this process which records changed: those that it changed itself at once after the commit, and those
//! that other replicas changed when PostgreSQL tells ([`crate::follow`]). It costs the database nothing.
//!
//! What is told is lost with the process, and changes of others while the server cannot be heard. The [outbox](crate::outbox)
//! loses nothing.

use std::sync::{Mutex, PoisonError};

use sqlx::{Any, Transaction};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::Result;
use crate::change::commit;
use crate::outbox::Subject;
use crate::store::Store;

/// A record that has changed, and its version since then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// The record.
    pub subject: Subject,
    /// As in [`OutboxEntry`](crate::OutboxEntry); 0 where it is not known.
    pub version: i64,
}

/// Those who listen.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<Vec<UnboundedSender<Told>>>);

impl Listeners {
    fn add(&self) -> UnboundedReceiver<Told> {
        let (sender, receiver) = unbounded_channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        receiver
    }

    pub(crate) fn tell(&self, told: Told) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|listener| listener.send(told).is_ok());
    }
}

/// The records that a transaction changes.
#[derive(Default)]
#[must_use]
pub(crate) struct Noted(Vec<Told>);

impl Noted {
    pub(crate) fn add(&mut self, subject: Subject, version: i64) {
        self.0.push(Told { subject, version });
    }

    /// Commits, and tells.
    pub(crate) async fn commit(self, transaction: Transaction<'static, Any>, store: &Store) -> Result<()> {
        commit(transaction).await?;
        for told in self.0 {
            store.listeners().tell(told);
        }
        Ok(())
    }
}

impl Store {
    /// Every record that changes from now on, here or in other replicas, within milliseconds; a change may be told twice.
    /// Whoever asks must take what comes: it is kept until then.
    pub fn told(&self) -> UnboundedReceiver<Told> {
        self.listeners().add()
    }

    /// Whether changes of other replicas are told. False on PostgreSQL while its notifications do not come through.
    pub fn hears_others(&self) -> bool {
        self.polled().is_trusted()
    }
}
