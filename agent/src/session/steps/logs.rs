//! `logs-gather`: collects logs, uploads them, and reports the progress. Source:
//! docs/protocol/agent-protocol.md#8. Muster's service requests the logs of hosts without a cluster, too; these are kept with the host,
//! and no progress is reported: the upload suffices.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::host::LogsProgressState;
use muster_api::steps::LogsGatherRequest;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{Dependencies, Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};
use crate::config::Settings;
use crate::logs::{Redactor, archive};
use crate::session::client::Client;
use crate::time::clock;

const NAME: StepType = StepType::LogsGather;
/// Pieces of the archive that may wait to be sent.
const WAITING: usize = 4;
/// Size of a piece, bytes.
const PIECE: usize = 64 << 10;

pub struct LogsGather {
    client: Client,
    redactor: Redactor,
}

impl LogsGather {
    /// Uses the agent's client, and removes the secrets in its settings.
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
        let in_thread = Arc::clone(&running);
        reply(running, async move {
            let destination = Destination::of(&one_argument(NAME, &args)?)?;
            send(&client, destination, redactor, in_thread).await?;
            Ok(StepOutput::good(String::new()))
        })
    }
}

/// The records that logs belong to.
#[derive(Debug, Clone, Copy)]
pub struct Destination {
    /// `None`: an operator requested the logs of the host itself.
    pub cluster: Option<Uuid>,
    pub host: Uuid,
    pub infra_env: Uuid,
}

impl Destination {
    fn of(request: &LogsGatherRequest) -> Result<Self, StepError> {
        let id = |name: &str, text: &str| {
            text.parse::<Uuid>()
                .map_err(|_| StepError::of(NAME, format!("{name} is no UUID: `{text}`")))
        };
        Ok(Self {
            cluster: match request.cluster_id.as_str() {
                "" => None,
                cluster => Some(id("cluster_id", cluster)?),
            },
            host: id("host_id", &request.host_id)?,
            infra_env: id("infra_env_id", &request.infra_env_id)?,
        })
    }
}

/// Sends the logs at the end of an installation.
///
/// # Errors
/// Fails if the service does not accept them.
pub async fn send_of_installation(
    client: &Client,
    to: Destination,
    settings: &Settings,
    running: Arc<Running>,
) -> Result<(), StepError> {
    send(client, to, Redactor::of(settings), running).await
}

async fn send(
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
