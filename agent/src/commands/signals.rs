//! Ends a session when the program is told to end.

use std::io;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// SIGTERM and SIGINT, caught from the moment on that this is made.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// # Errors
    /// Of the kernel.
    pub fn caught() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for a signal, cancels `stop`, and waits for the end of the session.
    ///
    /// # Errors
    /// The session panicked.
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
