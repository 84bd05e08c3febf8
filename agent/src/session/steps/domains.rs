//! `domain-resolution`: resolves names. Source: docs/protocol/agent-protocol.md#6.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::{DomainResolutionRequest, DomainResolutionResponse};

use crate::checks::domains;
use crate::net::names::Names;
use crate::step::{Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};

pub struct DomainResolution {
    names: Names,
}

impl DomainResolution {
    /// Uses the host's resolver.
    pub fn new(names: Names) -> Self {
        Self { names }
    }
}

impl StepHandler for DomainResolution {
    fn step_type(&self) -> StepType {
        StepType::DomainResolution
    }

    /// Sixteen names at a time, each at most 20 s.
    fn deadline(&self) -> Duration {
        Duration::from_secs(330)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let names = self.names.clone();
        reply(running, async move {
            let request: DomainResolutionRequest = one_argument(StepType::DomainResolution, &args)?;
            let resolutions = domains::resolve(&names, &request.domains).await;
            let resolutions =
                resolutions.map_err(|error| StepError::of(StepType::DomainResolution, error))?;
            Ok(StepOutput::json(&DomainResolutionResponse { resolutions }))
        })
    }
}
