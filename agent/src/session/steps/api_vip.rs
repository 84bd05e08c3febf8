//! `api-vip-connectivity-check`: downloads this host's ignition from the cluster. Source:
//! docs/protocol/agent-protocol.md#6.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::ApiVipConnectivityRequest;

use crate::checks::api_vip;
use crate::net::names::Names;
use crate::step::{Running, StepHandler, StepOutput, StepType, one_argument, reply};

pub struct ApiVipConnectivityCheck {
    names: Names,
}

impl ApiVipConnectivityCheck {
    /// Uses the host's resolver.
    pub fn new(names: Names) -> Self {
        Self { names }
    }
}

impl StepHandler for ApiVipConnectivityCheck {
    fn step_type(&self) -> StepType {
        StepType::ApiVipConnectivityCheck
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(90)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let names = self.names.clone();
        reply(running, async move {
            let request: ApiVipConnectivityRequest = one_argument(StepType::ApiVipConnectivityCheck, &args)?;
            let response = api_vip::check(&names, &request).await;
            let mut output = StepOutput::json(&response);
            // A failed download is a result, not a failed step.
            if output.exit_code == 0 && !response.is_success {
                output.error = "ignition download error".to_owned();
            }
            Ok(output)
        })
    }
}
