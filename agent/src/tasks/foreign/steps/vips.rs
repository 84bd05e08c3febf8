//! `verify-vips`: checks that the addresses for a cluster are free. The argument is a JSON array of
//! them. Source: docs/protocol/agent-protocol.md#6.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::VerifyVip;

use crate::checks::nics::Nic;
use crate::foreign::vips;
use crate::step::{Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};

pub struct VerifyVips;

impl StepHandler for VerifyVips {
    fn step_type(&self) -> StepType {
        StepType::VerifyVips
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        reply(running, async move {
            let vips: Vec<VerifyVip> = one_argument(StepType::VerifyVips, &args)?;
            let verified = vips::verify(&Nic::of_this_host(), &vips).await;
            let verified = verified.map_err(|error| StepError::of(StepType::VerifyVips, error))?;
            // `null` for an empty request: upstream's service expects it.
            Ok(StepOutput::json(
                &Some(verified).filter(|verified| !verified.is_empty()),
            ))
        })
    }
}
