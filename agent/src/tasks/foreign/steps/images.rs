//! `container-image-availability`: checks that the registries have the images of an installation. Source:
//! docs/protocol/agent-protocol.md#6; the checks that replace a pull: [`crate::foreign::registry::check`].

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::{
    ContainerImageAvailability, ContainerImageAvailabilityRequest, ContainerImageAvailabilityResponse,
    ContainerImageAvailabilityResult as Outcome,
};
use tokio::time::Instant;

use crate::client::Client;
use crate::config::Settings;
use crate::foreign::registry::check::{Download, check};
use crate::foreign::registry::{Registries, RegistryError, RegistryFiles, from_ignition, from_system};
use crate::net::names::Names;
use crate::step::{Dependencies, Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};

const NAME: StepType = StepType::ContainerImageAvailability;
/// The default limit. Source: docs/protocol/agent-protocol.md#6.
const USUAL: Duration = Duration::from_secs(960);
const LONGEST: Duration = Duration::from_secs(3600);
/// Time beyond the given limit, so that the reply names every image.
const GRACE: Duration = Duration::from_secs(5);
/// An image is not available.
const EXIT_ABSENT: i64 = 2;
/// No installation needs more.
const MOST_IMAGES: usize = 100;

pub struct ImageAvailability {
    settings: Arc<Settings>,
    names: Names,
    client: Client,
}

impl ImageAvailability {
    /// Uses the agent's proxies, certificates and resolver, and gets the pull secret from the service.
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

    fn when_running(&self, _args: &[String]) -> Option<StepOutput> {
        Some(StepOutput::good(String::new()))
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let (settings, names, client) = (
            Arc::clone(&self.settings),
            self.names.clone(),
            self.client.clone(),
        );
        reply(running, async move {
            let request: ContainerImageAvailabilityRequest = one_argument(NAME, &args)?;
            if request.images.len() > MOST_IMAGES {
                return Err(StepError::of(NAME, format!("more than {MOST_IMAGES} images")));
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
            let answer = StepOutput::json(&ContainerImageAvailabilityResponse { images: results });
            Ok(if errors.is_empty() {
                answer
            } else {
                answer.ending(EXIT_ABSENT, errors.join("\n"))
            })
        })
    }
}

fn limit(request: &ContainerImageAvailabilityRequest) -> Duration {
    match u64::try_from(request.timeout) {
        Ok(seconds @ 1..) => Duration::from_secs(seconds).min(LONGEST),
        _ => USUAL,
    }
}

/// The system's own files if they hold a pull secret; else the service's files for its hosts.
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
            // Public images need no pull secret.
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
