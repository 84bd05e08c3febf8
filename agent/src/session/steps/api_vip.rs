//! `api-vip-connectivity-check`: whether this host is handed its ignition. Source: docs/protocol/agent-protocol.md#6.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use muster_api::steps::ApiVipConnectivityRequest;

use super::{Running, StepHandler, StepOutput, StepType, one_argument};
use crate::checks::api_vip;
use crate::net::names::Names;

/// Downloads the ignition as the installed host will.
pub struct ApiVipConnectivityCheck {
    names: Names,
}

impl ApiVipConnectivityCheck {
    /// Over the host's resolver.
    pub fn new(names: Names) -> Self {
        Self { names }
    }
}

impl StepHandler for ApiVipConnectivityCheck {
    fn step_type(&self) -> StepType {
        "api-vip-connectivity-check"
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(90)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let names = self.names.clone();
        async move {
            let _running = running;
            let request: ApiVipConnectivityRequest = match one_argument("api-vip-connectivity-check", &args) {
                Ok(request) => request,
                Err(error) => return StepOutput::failed(error),
            };
            let response = api_vip::check(&names, &request).await;
            let mut output = StepOutput::json(&response);
            // A download that fails is an answer, not a failed step.
            if output.exit_code == 0 && !response.is_success {
                output.error = "ignition download error".to_owned();
            }
            output
        }
        .boxed()
    }
}
