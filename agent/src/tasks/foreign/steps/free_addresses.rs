//! `free-network-addresses`: lists unused addresses. The argument is a JSON array of IPv4 networks. Source:
//! docs/protocol/agent-protocol.md#6.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::checks::nics::Nic;
use crate::foreign::free_addresses;
use crate::step::{Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};

pub struct FreeNetworkAddresses;

impl StepHandler for FreeNetworkAddresses {
    fn step_type(&self) -> StepType {
        StepType::FreeNetworkAddresses
    }

    /// A /22 takes about 6 s, and 8,000 free addresses are in eight of them.
    fn deadline(&self) -> Duration {
        Duration::from_secs(300)
    }

    /// The reply that the protocol prescribes: an empty one, since the running step will return the addresses.
    fn when_running(&self, _args: &[String]) -> Option<StepOutput> {
        Some(StepOutput::good(String::new()))
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        reply(running, async move {
            let networks: Vec<String> = one_argument(StepType::FreeNetworkAddresses, &args)?;
            let free = free_addresses::free(&Nic::of_this_host(), &networks).await;
            let free = free.map_err(|error| StepError::of(StepType::FreeNetworkAddresses, error))?;
            Ok(StepOutput::json(&free))
        })
    }
}
