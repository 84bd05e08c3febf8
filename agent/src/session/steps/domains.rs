//! `domain-resolution`: what names mean on this host. Source: docs/protocol/agent-protocol.md#6.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use muster_api::steps::{DomainResolutionRequest, DomainResolutionResponse};

use super::{Running, StepHandler, StepOutput, StepType, one_argument};
use crate::checks::domains;
use crate::net::names::Names;

/// Asks the name servers of this host.
pub struct DomainResolution {
    names: Names,
}

impl DomainResolution {
    /// Over the host's resolver.
    pub fn new(names: Names) -> Self {
        Self { names }
    }
}

impl StepHandler for DomainResolution {
    fn step_type(&self) -> StepType {
        "domain-resolution"
    }

    /// Sixteen names at a time, each at most 20 s.
    fn deadline(&self) -> Duration {
        Duration::from_secs(330)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let names = self.names.clone();
        async move {
            let _running = running;
            let request: DomainResolutionRequest = match one_argument("domain-resolution", &args) {
                Ok(request) => request,
                Err(error) => return StepOutput::failed(error),
            };
            match domains::resolve(&names, &request.domains).await {
                Ok(resolutions) => StepOutput::json(&DomainResolutionResponse { resolutions }),
                Err(error) => StepOutput::failed(format!("domain-resolution: {error}")),
            }
        }
        .boxed()
    }
}
