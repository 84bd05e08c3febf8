//! `reboot-node`: restarts an installed node into its own system, at a request of the service. Our addition to the protocol
//! (docs/wire-differences.md).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::RebootNodeRequest;

use super::reboot::go_after_reply;
use crate::host::restart::Way;
use crate::step::{Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};

const NAME: StepType = StepType::RebootNode;
/// Time since boot, as the kernel counts it. Source: proc_uptime(5).
const UPTIME: &str = "/proc/uptime";

pub struct RebootNode;

impl StepHandler for RebootNode {
    fn step_type(&self) -> StepType {
        NAME
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let until_reboot = Arc::clone(&running);
        reply(running, async move {
            let request: RebootNodeRequest = one_argument(NAME, &args)?;
            let uptime = std::fs::read_to_string(UPTIME)
                .map_err(|error| StepError::of(NAME, format!("{UPTIME} cannot be read: {error}")))?;
            if has_booted_since(&request, &uptime) {
                tracing::info!("the node has booted since the service requested a reboot");
                return Ok(StepOutput::good(String::new()));
            }
            let way = Way::of_machine().map_err(|reason| StepError::of(NAME, reason))?;
            tracing::warn!(?way, "the service requests a reboot");
            go_after_reply(way, until_reboot);
            Ok(StepOutput::good(String::new()))
        })
    }
}

/// True when the machine booted after the request was made. `uptime`: the content of the kernel's file; one that cannot be read is old.
fn has_booted_since(request: &RebootNodeRequest, uptime: &str) -> bool {
    let seconds = uptime
        .split(['.', ' '])
        .next()
        .and_then(|text| text.trim().parse::<i64>().ok());
    seconds.is_some_and(|seconds| seconds < request.requested_seconds_ago)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_has_booted_since_the_request_does_not_reboot_again() {
        let booted = |ago, uptime| {
            let request = RebootNodeRequest {
                requested_seconds_ago: ago,
            };
            has_booted_since(&request, uptime)
        };
        assert!(!booted(0, "0.50 0.10\n"));
        assert!(!booted(20, "350735.47 234388.90\n"));
        assert!(!booted(20, "20.01 3.00\n"));
        assert!(booted(90, "31.20 50.00\n"));
        assert!(!booted(90, "no number"), "what is not known is rebooted");
    }
}
