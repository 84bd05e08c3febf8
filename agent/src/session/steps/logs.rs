//! `logs-gather`: collects logs and uploads them, telling how far it is. Source: docs/protocol/agent-protocol.md#8.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use muster_api::steps::LogsGatherRequest;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{Dependencies, Running, StepHandler, StepOutput, StepType, one_argument};
use crate::logs::{Redactor, archive};
use crate::session::client::{Client, LogsState};
use crate::time::clock;

const NAME: StepType = "logs-gather";
/// Pieces of the archive that wait to be sent.
const WAITING: usize = 4;
/// Bytes of a piece.
const PIECE: usize = 64 << 10;

/// Sends logs to a cluster.
pub struct LogsGather {
    client: Client,
    redactor: Redactor,
}

impl LogsGather {
    /// To the service of `means`, without the secrets in its settings.
    pub fn new(dependencies: &Dependencies) -> Self {
        Self {
            client: dependencies.client.clone(),
            redactor: Redactor::of(&dependencies.settings),
        }
    }
}

impl StepHandler for LogsGather {
    fn step_type(&self) -> StepType {
        NAME
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(15 * 60)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let (client, redactor) = (self.client.clone(), self.redactor.clone());
        async move {
            let whom = match one_argument::<LogsGatherRequest>(NAME, &args).and_then(|request| whom(&request))
            {
                Ok(whom) => whom,
                Err(error) => return StepOutput::failed(error),
            };
            match send(&client, whom, redactor, running).await {
                Ok(()) => StepOutput::good(String::new()),
                Err(error) => StepOutput::failed(error),
            }
        }
        .boxed()
    }
}

#[derive(Debug, Clone, Copy)]
struct Whom {
    cluster: Uuid,
    host: Uuid,
    pool: Uuid,
}

fn whom(request: &LogsGatherRequest) -> Result<Whom, String> {
    let id = |name: &str, text: &str| {
        text.parse::<Uuid>()
            .map_err(|_| format!("{NAME}: {name} is no UUID: `{text}`"))
    };
    Ok(Whom {
        cluster: id("cluster_id", &request.cluster_id)?,
        host: id("host_id", &request.host_id)?,
        pool: id("infra_env_id", &request.infra_env_id)?,
    })
}

async fn send(client: &Client, whom: Whom, redactor: Redactor, running: Arc<Running>) -> Result<(), String> {
    let progress = async |state: LogsState| {
        // A service that does not take this may take the logs all the same.
        if let Err(failure) = client.logs_progress(whom.pool, whom.host, state).await {
            tracing::warn!(state = state.name(), "logs: {}", failure.text());
        }
    };
    progress(LogsState::Requested).await;
    progress(LogsState::Collecting).await;
    let (sender, receiver) = mpsc::channel(WAITING);
    let collecting = tokio::task::spawn_blocking(move || {
        let _running = running;
        let mut pieces = Pieces {
            piece: Vec::with_capacity(PIECE),
            to: sender.clone(),
        };
        let written = archive::write(&mut pieces, &whom.host.to_string(), &redactor, clock::now());
        if let Err(error) = written {
            // Ends the upload in the middle, so that nobody takes it for whole.
            let _ = sender.blocking_send(Err(error));
        }
    });
    client
        .upload_logs(whom.cluster, whom.host, whom.pool, receiver)
        .await
        .map_err(|failure| format!("the logs were not taken: {}", failure.text()))?;
    collecting
        .await
        .map_err(|error| format!("collecting logs broke: {error}"))?;
    progress(LogsState::Completed).await;
    Ok(())
}

/// Hands on what is written in pieces of a fair size.
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
