//! `container-image-availability`: whether the registries hand out what an installation needs.
//! Source: docs/protocol/agent-protocol.md#6; what is checked instead of pulled: [`crate::foreign::registry::check`].

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use muster_api::steps::{
    ContainerImageAvailability, ContainerImageAvailabilityRequest, ContainerImageAvailabilityResponse,
    ContainerImageAvailabilityResult as Outcome,
};
use tokio::time::Instant;

use crate::config::Settings;
use crate::foreign::registry::check::{Download, check};
use crate::foreign::registry::{Registries, RegistryError, RegistryFiles, from_ignition, from_system};
use crate::net::names::Names;
use crate::session::client::Client;
use crate::session::steps::{Dependencies, Running, StepHandler, StepOutput, StepType, one_argument};

const NAME: StepType = "container-image-availability";
/// When the service does not say. Source: docs/protocol/agent-protocol.md#6.
const USUAL: Duration = Duration::from_secs(960);
const LONGEST: Duration = Duration::from_secs(3600);
/// Beyond the given time, for an answer that names every image.
const GRACE: Duration = Duration::from_secs(5);
/// An image cannot be had.
const EXIT_ABSENT: i64 = 2;
/// No installation needs more.
const MOST_IMAGES: usize = 100;

/// Asks the registries for images.
pub struct ImageAvailability {
    settings: Arc<Settings>,
    names: Names,
    client: Client,
}

impl ImageAvailability {
    /// With the agent's proxies, certificates and resolver; the service is asked for the pull secret.
    pub fn new(dependencies: &Dependencies) -> Self {
        Self {
            settings: Arc::clone(&dependencies.settings),
            names: dependencies.names.clone(),
            client: dependencies.client.clone(),
        }
    }
}

impl StepHandler for ImageAvailability {
    fn step_type(&self) -> StepType {
        NAME
    }

    fn deadline(&self) -> Duration {
        USUAL + GRACE
    }

    fn deadline_for(&self, args: &[String]) -> Duration {
        let request = one_argument(NAME, args).unwrap_or_default();
        limit(&request) + GRACE
    }

    fn when_running(&self) -> Option<StepOutput> {
        Some(StepOutput::good(String::new()))
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let (settings, names, client) = (
            Arc::clone(&self.settings),
            self.names.clone(),
            self.client.clone(),
        );
        async move {
            let _running = running;
            let request: ContainerImageAvailabilityRequest = match one_argument(NAME, &args) {
                Ok(request) => request,
                Err(error) => return StepOutput::failed(error),
            };
            if request.images.len() > MOST_IMAGES {
                return StepOutput::failed(format!("{NAME}: more than {MOST_IMAGES} images"));
            }
            let until = Instant::now() + limit(&request);
            let registries = async {
                let files = files(&client).await?;
                Registries::new(&settings, &names, files)
            };
            let registries = tokio::time::timeout_at(until, registries)
                .await
                .unwrap_or_else(|_| Err(RegistryError::Configuration("the service did not answer".into())));
            let mut results = Vec::new();
            let mut errors = Vec::new();
            for image in &request.images {
                let outcome = match &registries {
                    Ok(registries) => tokio::time::timeout_at(until, check(registries, image))
                        .await
                        .unwrap_or_else(|_| {
                            let why = "no time was left".to_owned();
                            Err(RegistryError::Unreachable(image.clone(), why))
                        }),
                    Err(error) => Err(error.clone()),
                };
                if let Err(error) = &outcome {
                    tracing::warn!(image, "cannot be pulled: {error}");
                    errors.push(format!("{image}: {error}"));
                }
                results.push(result(image, &outcome));
            }
            let reply = StepOutput::json(&ContainerImageAvailabilityResponse { images: results });
            if errors.is_empty() {
                reply
            } else {
                reply.ending(EXIT_ABSENT, errors.join("\n"))
            }
        }
        .boxed()
    }
}

fn limit(request: &ContainerImageAvailabilityRequest) -> Duration {
    match u64::try_from(request.timeout) {
        Ok(seconds @ 1..) => Duration::from_secs(seconds).min(LONGEST),
        _ => USUAL,
    }
}

/// The system's own files, where somebody put a pull secret; else those that the service has for its hosts.
async fn files(client: &Client) -> Result<RegistryFiles, RegistryError> {
    let system = tokio::task::spawn_blocking(|| from_system(Path::new("/")))
        .await
        .unwrap_or_else(|error| Err(RegistryError::Configuration(error.to_string())))?;
    if system.credentials.is_some() {
        return Ok(system);
    }
    match client.discovery_ignition().await {
        Ok(body) => from_ignition(&body),
        Err(failure) => {
            // Public images can be had without.
            tracing::warn!("no pull secret: {}", failure.text());
            Ok(system)
        }
    }
}

fn result(image: &str, outcome: &Result<Download, RegistryError>) -> ContainerImageAvailability {
    let name = image.to_owned();
    match outcome {
        Ok(download) => ContainerImageAvailability {
            name,
            result: Some(Outcome::Success),
            size_bytes: download.bytes as f64,
            time: download.time.as_secs_f64(),
            download_rate: download.rate(),
        },
        Err(_) => ContainerImageAvailability {
            name,
            result: Some(Outcome::Failure),
            ..ContainerImageAvailability::default()
        },
    }
}
