//! Ends a session on a signal to terminate.

use std::io;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// SIGTERM and SIGINT, caught as soon as this exists.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// # Errors
    /// Fails if the kernel refuses a handler.
    pub fn caught() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for a signal, cancels `stop`, and waits for the end of the session.
    ///
    /// # Errors
    /// Fails if the session panicked.
    pub async fn end<T>(mut self, stop: CancellationToken, session: JoinHandle<T>) -> anyhow::Result<T> {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        info!("stopping");
        stop.cancel();
        session.await.context("the session broke")
    }
}
