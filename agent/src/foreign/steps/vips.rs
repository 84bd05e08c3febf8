//! `verify-vips`: whether the addresses that a cluster wants are free. The argument is a JSON array of them.
//! Source: docs/protocol/agent-protocol.md#6.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use muster_api::steps::VerifyVip;

use crate::checks::nics::Nic;
use crate::foreign::vips;
use crate::session::steps::{Running, StepHandler, StepOutput, StepType, one_argument};

/// Looks for somebody who has them.
pub struct VerifyVips;

impl StepHandler for VerifyVips {
    fn step_type(&self) -> StepType {
        "verify-vips"
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        async move {
            let _running = running;
            let vips: Vec<VerifyVip> = match one_argument("verify-vips", &args) {
                Ok(vips) => vips,
                Err(error) => return StepOutput::failed(error),
            };
            match vips::verify(&Nic::of_this_host(), &vips).await {
                // Nothing asked, nothing said: what the protocol's own service expects.
                Ok(verified) => StepOutput::json(&Some(verified).filter(|verified| !verified.is_empty())),
                Err(error) => StepOutput::failed(format!("verify-vips: {error}")),
            }
        }
        .boxed()
    }
}
