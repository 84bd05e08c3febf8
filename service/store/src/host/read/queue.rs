//! Queues reads of hosts, so that concurrent ones are done by one query.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muster_api::ids::HostId;
use tokio::sync::oneshot;

use crate::Result;
use crate::host::form::HostForm;
use crate::host::found_row::FoundRow;

/// Most hosts in one query.
const AT_ONCE: usize = 32;

/// The rows of the hosts of one id: one for each InfraEnv into which the machine was booted.
pub(crate) type Rows = Vec<Arc<FoundRow>>;

/// A request to read a host.
pub(crate) struct HostRead {
    pub(crate) id: HostId,
    pub(crate) answer: oneshot::Sender<Result<Rows>>,
}

impl HostRead {
    /// A cancelled request no longer waits for the rows.
    pub(crate) fn answer(self, rows: Result<Rows>) {
        drop(self.answer.send(rows));
    }
}

/// The reads that wait, of each form.
#[derive(Default)]
pub(crate) struct HostReads {
    whole: ReadQueue,
    brief: ReadQueue,
}

impl HostReads {
    pub(crate) fn of(&self, form: HostForm) -> &ReadQueue {
        match form {
            HostForm::Whole => &self.whole,
            HostForm::Brief => &self.brief,
        }
    }
}

#[derive(Default)]
pub(crate) struct ReadQueue(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    waiting: VecDeque<HostRead>,
    /// One at a time: the other connections are for lists and lookups.
    has_reader: bool,
}

impl ReadQueue {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True: the caller starts a reader, see [`reader`](Self::reader).
    pub(crate) fn add(&self, read: HostRead) -> bool {
        let mut inner = self.inner();
        inner.waiting.push_back(read);
        !std::mem::replace(&mut inner.has_reader, true)
    }

    /// The reader that the caller of [`add`](Self::add) starts when that returns true.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader {
            queue: self,
            has_ended: false,
        }
    }
}

/// Reads until nothing waits.
pub(crate) struct Reader<'a> {
    queue: &'a ReadQueue,
    has_ended: bool,
}

impl Reader<'_> {
    /// The next hosts. Empty: the reader has ended, and the next [`add`](ReadQueue::add) starts another.
    pub(crate) fn next(&mut self) -> Vec<HostRead> {
        let mut inner = self.queue.inner();
        let count = inner.waiting.len().min(AT_ONCE);
        self.has_ended = count == 0;
        inner.has_reader = !self.has_ended;
        inner.waiting.drain(..count).collect()
    }
}

impl Drop for Reader<'_> {
    /// The runtime may drop it at any time.
    fn drop(&mut self) {
        if !self.has_ended {
            self.queue.inner().has_reader = false;
        }
    }
}
