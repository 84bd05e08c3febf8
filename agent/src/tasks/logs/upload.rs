//! Sends an archive to the service while it is made. Source: docs/protocol/agent-protocol.md#8.

use std::io::{self, Write};
use std::sync::Arc;

use muster_api::host::LogsProgressState;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{Redactor, archive};
use crate::client::Client;
use crate::step::{Running, StepError};
use crate::time::clock;

/// Pieces of the archive that may wait to be sent.
const WAITING: usize = 4;
/// Size of a piece, bytes.
const PIECE: usize = 64 << 10;

/// The records that logs belong to.
#[derive(Debug, Clone, Copy)]
pub struct Destination {
    /// `None`: an operator requested the logs of the host itself.
    pub cluster: Option<Uuid>,
    pub host: Uuid,
    pub infra_env: Uuid,
}

/// Collects the logs, uploads them, and reports the progress. The thread that collects keeps `running`.
///
/// # Errors
/// Fails if the service does not accept them.
pub(crate) async fn send(
    client: &Client,
    to: Destination,
    redactor: Redactor,
    running: Arc<Running>,
) -> Result<(), StepError> {
    let progress = async |state: LogsProgressState| {
        if to.cluster.is_none() {
            return;
        }
        // A service that refuses this may accept the logs all the same.
        if let Err(failure) = client.logs_progress(to.infra_env, to.host, state).await {
            tracing::warn!(state = state.name(), "logs: {}", failure.text());
        }
    };
    progress(LogsProgressState::Requested).await;
    progress(LogsProgressState::Collecting).await;
    let (sender, receiver) = mpsc::channel(WAITING);
    let collecting = tokio::task::spawn_blocking(move || {
        let _running = running;
        let mut pieces = Pieces {
            piece: Vec::with_capacity(PIECE),
            to: sender.clone(),
        };
        let written = archive::write(&mut pieces, &to.host.to_string(), &redactor, clock::now());
        if let Err(error) = written {
            // Aborts the upload, so that a partial archive is not taken for whole.
            let _ = sender.blocking_send(Err(error));
        }
    });
    client
        .upload_logs(to.cluster, to.host, to.infra_env, receiver)
        .await
        .map_err(|failure| StepError(format!("the logs were not taken: {}", failure.text())))?;
    collecting
        .await
        .map_err(|error| StepError(format!("collecting logs broke: {error}")))?;
    progress(LogsProgressState::Completed).await;
    Ok(())
}

/// Collects writes into larger pieces and sends them.
struct Pieces {
    piece: Vec<u8>,
    to: mpsc::Sender<io::Result<Vec<u8>>>,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.to
            .blocking_send(Ok(piece))
            .map_err(|_| io::Error::other("the upload has ended"))
    }
}
