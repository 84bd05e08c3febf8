//! Fails writes of bytes that the client does not read.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// The deadline of one stream's writes.
#[derive(Debug)]
pub struct Stall {
    timeout: Duration,
    /// Set while a write waits.
    waits: Option<Pin<Box<Sleep>>>,
}

impl Stall {
    /// A deadline of `timeout` for each write.
    pub fn after(timeout: Duration) -> Self {
        Self { timeout, waits: None }
    }

    /// The longest that a write waits.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Turns a write that has waited too long into an error of the kind `TimedOut`.
    pub fn guard(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let timeout = self.timeout;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(timeout)));
        std::task::ready!(waits.as_mut().poll(context));
        self.waits = None;
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}
