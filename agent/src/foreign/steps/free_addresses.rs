//! `free-network-addresses`: which addresses nobody uses. The argument is a JSON array of IPv4 networks.
//! Source: docs/protocol/agent-protocol.md#6.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::checks::nics::Nic;
use crate::foreign::free_addresses;
use crate::session::steps::{Running, StepHandler, StepOutput, StepType, one_argument};

/// Asks for every address of the networks.
pub struct FreeNetworkAddresses;

impl StepHandler for FreeNetworkAddresses {
    fn step_type(&self) -> StepType {
        "free-network-addresses"
    }

    /// A /22 takes about 6 s, and 8,000 free addresses are in eight of them.
    fn deadline(&self) -> Duration {
        Duration::from_secs(300)
    }

    /// As the protocol has it: an empty answer, for the one that runs will give the addresses.
    fn when_running(&self) -> Option<StepOutput> {
        Some(StepOutput::good(String::new()))
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        async move {
            let _running = running;
            let networks: Vec<String> = match one_argument("free-network-addresses", &args) {
                Ok(networks) => networks,
                Err(error) => return StepOutput::failed(error),
            };
            match free_addresses::free(&Nic::of_this_host(), &networks).await {
                Ok(free) => StepOutput::json(&free),
                Err(error) => StepOutput::failed(format!("free-network-addresses: {error}")),
            }
        }
        .boxed()
    }
}
