//! One connection, as shared by the registry, its stream and its requests.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

/// Shared by the registry, the stream and the requests of a connection.
#[derive(Debug)]
pub struct Connection {
    accepted: Instant,
    /// Requests in progress. HTTP/2 has several at once.
    requests: AtomicU32,
    /// Start of the time without a request in progress, milliseconds after the connection was accepted.
    idle_since: AtomicU64,
    has_asked: AtomicBool,
    /// Completed requests.
    answered: AtomicU32,
    /// The stream holds bytes that are not sent.
    has_unsent: AtomicBool,
    must_close: AtomicBool,
    reader: AtomicWaker,
}

impl Connection {
    pub(crate) fn new() -> Self {
        Self {
            accepted: Instant::now(),
            requests: AtomicU32::new(0),
            idle_since: AtomicU64::new(0),
            has_asked: AtomicBool::new(false),
            answered: AtomicU32::new(0),
            has_unsent: AtomicBool::new(false),
            must_close: AtomicBool::new(false),
            reader: AtomicWaker::new(),
        }
    }

    pub(crate) fn begin_request(&self) {
        self.has_asked.store(true, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn end_request(&self) {
        let now = u64::try_from(self.accepted.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.idle_since.store(now, Ordering::Relaxed);
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    pub(crate) fn set_unsent(&self, has_unsent: bool) {
        self.has_unsent.store(has_unsent, Ordering::Relaxed);
    }

    /// Number of completed requests; it wraps around after 4 billion.
    pub(crate) fn answered(&self) -> u32 {
        self.answered.load(Ordering::Relaxed)
    }

    /// True when there was no request for so long, and nothing is left to be sent.
    pub(crate) fn rests_for(&self, time: Duration) -> bool {
        let is_idle = self.idle_since().is_some_and(|since| since.elapsed() >= time);
        is_idle && !self.has_unsent.load(Ordering::Relaxed)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Acquire) == 0
    }

    /// Start of the time without a request in progress; `None` when one is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let after = Duration::from_millis(self.idle_since.load(Ordering::Relaxed));
        self.is_idle().then(|| self.accepted + after)
    }

    /// Ends the connection as soon as no request is in progress.
    pub(crate) fn close(&self) {
        self.must_close.store(true, Ordering::Release);
        self.reader.wake();
    }

    /// Ready when the connection makes room for another one.
    pub(crate) fn poll_closed(&self, context: &Context<'_>) -> Poll<()> {
        self.reader.register(context.waker());
        let closes = self.must_close.load(Ordering::Acquire) && self.is_idle();
        if closes { Poll::Ready(()) } else { Poll::Pending }
    }
}
