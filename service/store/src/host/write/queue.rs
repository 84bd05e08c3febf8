//! Queues changes of hosts, so that concurrent ones are written in one transaction.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use muster_sql::Kind;

use crate::host::change::{HostKey, HostWrite};

/// Changes in one transaction.
const AT_ONCE: usize = 32;

/// The changes that wait, and the hosts that are being written. No host is in two transactions at a time.
pub(crate) struct HostQueue {
    /// Transactions at a time: SQLite has one writer; on a server, a transaction that waits for another replica must not hold up all
    /// others.
    most_writers: usize,
    inner: Mutex<Inner>,
    /// Held to write hosts in another order than that of their keys: transactions that hold several hosts each would wait for each other.
    several: tokio::sync::RwLock<()>,
}

#[derive(Default)]
struct Inner {
    waiting: VecDeque<HostWrite>,
    being_written: HashSet<HostKey>,
    writers: usize,
}

impl HostQueue {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            most_writers: match kind {
                Kind::Sqlite => 1,
                Kind::Postgres => 2,
            },
            inner: Mutex::default(),
            several: tokio::sync::RwLock::default(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a change. True: the caller starts a writer, see [`writer`](Self::writer).
    pub(crate) fn add(&self, write: HostWrite) -> bool {
        let mut inner = self.inner();
        inner.waiting.push_back(write);
        let starts = inner.writers < self.most_writers;
        inner.writers += usize::from(starts);
        starts
    }

    /// The writer that the caller of [`add`](Self::add) starts when that returns true.
    pub(crate) fn writer(&self) -> Writer<'_> {
        Writer {
            queue: self,
            has_ended: false,
        }
    }

    /// Held while a transaction writes several hosts in the order of their keys.
    pub(crate) async fn in_order(&self) -> tokio::sync::RwLockReadGuard<'_, ()> {
        self.several.read().await
    }

    /// Held while a transaction writes several hosts in any order.
    pub(crate) async fn in_any_order(&self) -> tokio::sync::RwLockWriteGuard<'_, ()> {
        self.several.write().await
    }
}

/// Writes until nothing waits.
pub(crate) struct Writer<'a> {
    queue: &'a HostQueue,
    has_ended: bool,
}

impl<'a> Writer<'a> {
    /// The next changes, each of another host. `None`: the writer has ended, and the next [`add`](HostQueue::add) starts another.
    pub(crate) fn next(&mut self) -> Option<Batch<'a>> {
        let queue = self.queue;
        let mut inner = queue.inner();
        let (mut writes, mut passed) = (Vec::new(), VecDeque::new());
        while writes.len() < AT_ONCE
            && let Some(write) = inner.waiting.pop_front()
        {
            if inner.being_written.insert(write.key) {
                writes.push(write);
            } else {
                passed.push_back(write);
            }
        }
        passed.append(&mut inner.waiting);
        inner.waiting = passed;
        if writes.is_empty() {
            // Those that were passed over are taken by the writer that has their hosts now.
            inner.writers -= 1;
            self.has_ended = true;
            return None;
        }
        let keys = writes.iter().map(|write| write.key).collect();
        Some(Batch { writes, keys, queue })
    }
}

impl Drop for Writer<'_> {
    /// The runtime may drop it at any time.
    fn drop(&mut self) {
        if !self.has_ended {
            self.queue.inner().writers -= 1;
        }
    }
}

/// Changes that are being written. Their hosts are free again when it is dropped.
pub(crate) struct Batch<'a> {
    pub(crate) writes: Vec<HostWrite>,
    keys: Vec<HostKey>,
    queue: &'a HostQueue,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let mut inner = self.queue.inner();
        for key in &self.keys {
            inner.being_written.remove(key);
        }
    }
}
