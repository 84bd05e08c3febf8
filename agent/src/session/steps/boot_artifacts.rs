//! `download-boot-artifacts`: prepares an installed node to boot into discovery. Source:
//! docs/protocol/agent-protocol.md#6.1.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::DownloadBootArtifactsRequest;

use crate::boot_artifacts::{ArtifactError, Boot, fetch};
use crate::config::Settings;
use crate::net::http::{self, causes};
use crate::net::names::Names;
use crate::step::{Dependencies, Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};

const NAME: StepType = StepType::DownloadBootArtifacts;
const TRIES: u32 = 5;
/// Pause between two attempts; doubles.
const PAUSE: Duration = Duration::from_secs(5);
/// A server without data for this long is gone.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
const DEADLINE: Duration = Duration::from_secs(30 * 60);

/// Downloads kernel and initrd, and makes the boot loader start them.
pub struct DownloadBootArtifacts {
    settings: Arc<Settings>,
    names: Names,
    at_root: bool,
}

impl DownloadBootArtifacts {
    /// Uses the agent's proxies and trust.
    pub fn new(dependencies: &Dependencies) -> Self {
        Self {
            settings: Arc::clone(&dependencies.settings),
            names: dependencies.names.clone(),
            at_root: false,
        }
    }

    /// For an agent that runs on the node itself and not in a container of it: the node's file system is `/`.
    #[must_use]
    pub fn at_root(self) -> Self {
        Self {
            at_root: true,
            ..self
        }
    }
}

impl StepHandler for DownloadBootArtifacts {
    fn step_type(&self) -> StepType {
        NAME
    }

    fn deadline(&self) -> Duration {
        DEADLINE
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let (settings, names) = (Arc::clone(&self.settings), self.names.clone());
        let at_root = self.at_root;
        reply(running, async move {
            let mut request: DownloadBootArtifactsRequest = one_argument(NAME, &args)?;
            if at_root {
                request.host_fs_mount_dir = "/".to_owned();
            }
            let prepared = prepare(&settings, &names, &request).await;
            Ok(StepOutput::good(
                prepared.map_err(|error| StepError(causes(&error)))?,
            ))
        })
    }
}

async fn prepare(
    settings: &Settings,
    names: &Names,
    request: &DownloadBootArtifactsRequest,
) -> Result<String, ArtifactError> {
    let boot = Boot::of(&request.host_fs_mount_dir)?;
    if cfg!(target_arch = "s390x") {
        return Err(ArtifactError::Request(
            "on s390x the boot loader's list must be rebuilt with zipl, which this agent cannot; boot the host from its ISO".to_owned(),
        ));
    }
    if boot.is_prepared() {
        return Ok("the boot artifacts are in their places already".to_owned());
    }
    let http = http::service_client(settings, names)
        .map_err(|error| ArtifactError::Request(error.to_string()))?
        // The download may take as long as the step; the service's own requests may not.
        .timeout(DEADLINE)
        .read_timeout(READ_TIMEOUT)
        .build()
        .map_err(|error| ArtifactError::Request(causes(&error)))?;
    boot.open()?;
    let mut lines = Vec::new();
    for (url, sha256, path) in [
        (&request.kernel_url, &request.kernel_sha256, boot.kernel()),
        (&request.initrd_url, &request.initrd_sha256, boot.initrd()),
    ] {
        let mut pause = PAUSE;
        let mut tries = 1;
        let download = loop {
            match fetch(&http, url, sha256, &path).await {
                Ok(download) => break download,
                Err(error) if error.may_pass() && tries < TRIES => {
                    tracing::warn!(tries, "{}", causes(&error));
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                    tries += 1;
                }
                Err(error) => return Err(error.into()),
            }
        };
        lines.push(format!(
            "{}: {} bytes, SHA-256 {}",
            path.display(),
            download.bytes,
            download.sha256
        ));
    }
    boot.write_entry(&request.rootfs_url, &request.kernel_arguments)?;
    Ok(lines.join("\n"))
}
