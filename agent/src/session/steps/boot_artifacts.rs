//! `download-boot-artifacts`: prepares an installed node to boot into discovery. Source: docs/protocol/agent-protocol.md#6.1.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use muster_api::steps::DownloadBootArtifactsRequest;

use super::{Dependencies, Running, StepHandler, StepOutput, StepType, one_argument};
use crate::boot_artifacts::{ArtifactError, Boot, fetch};
use crate::config::Settings;
use crate::net::names::Names;
use crate::session::client::{causes, client_builder};

const NAME: StepType = "download-boot-artifacts";
const TRIES: u32 = 5;
/// Between two tries; doubles.
const PAUSE: Duration = Duration::from_secs(5);
/// A server that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(60);
const DEADLINE: Duration = Duration::from_secs(30 * 60);

/// Downloads kernel and initrd, and makes the boot loader start them.
pub struct DownloadBootArtifacts {
    settings: Arc<Settings>,
    names: Names,
}

impl DownloadBootArtifacts {
    /// By way of the agent's proxies, and believing whom it believes.
    pub fn new(dependencies: &Dependencies) -> Self {
        Self {
            settings: Arc::clone(&dependencies.settings),
            names: dependencies.names.clone(),
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
        async move {
            let _running = running;
            let request: DownloadBootArtifactsRequest = match one_argument(NAME, &args) {
                Ok(request) => request,
                Err(error) => return StepOutput::failed(error),
            };
            match prepare(&settings, &names, &request).await {
                Ok(text) => StepOutput::good(text),
                Err(error) => StepOutput::failed(causes(&error)),
            }
        }
        .boxed()
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
    let http = client_builder(settings, names)
        .map_err(|error| ArtifactError::Request(error.to_string()))?
        // The whole may take as long as the step; the service's own requests may not.
        .timeout(DEADLINE)
        .read_timeout(SILENCE)
        .build()
        .map_err(|error| ArtifactError::Request(causes(&error)))?;
    boot.open()?;
    let mut told = Vec::new();
    for (url, path) in [
        (&request.kernel_url, boot.kernel()),
        (&request.initrd_url, boot.initrd()),
    ] {
        let mut pause = PAUSE;
        let mut tries = 1;
        let download = loop {
            match fetch(&http, url, &path).await {
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
        told.push(format!(
            "{}: {} bytes, SHA-256 {}",
            path.display(),
            download.bytes,
            download.sha256
        ));
    }
    boot.write_entry(&request.rootfs_url)?;
    Ok(told.join("\n"))
}
