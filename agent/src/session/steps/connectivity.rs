//! `connectivity-check`: whom this host reaches of the others. The argument is a JSON array of hosts.
//! Source: docs/protocol/agent-protocol.md#6 and §7.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use muster_api::steps::ConnectivityCheckHost;

use super::{Running, StepHandler, StepOutput, StepType, one_argument};
use crate::checks::connectivity;
use crate::checks::nics::Nic;

/// Checks from every network card of this host.
pub struct ConnectivityCheck;

impl StepHandler for ConnectivityCheck {
    fn step_type(&self) -> StepType {
        "connectivity-check"
    }

    /// 1,000 hosts with four addresses each, none of which answers, take 160 s.
    fn deadline(&self) -> Duration {
        Duration::from_secs(300)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        async move {
            let _running = running;
            let hosts: Vec<ConnectivityCheckHost> = match one_argument("connectivity-check", &args) {
                Ok(hosts) => hosts,
                Err(error) => return StepOutput::failed(error),
            };
            match connectivity::check(&Nic::of_this_host(), &hosts).await {
                Ok(report) => StepOutput::json(&report),
                Err(error) => StepOutput::failed(format!("connectivity-check: {error}")),
            }
        }
        .boxed()
    }
}
