//! `connectivity-check`: checks which of the other hosts this host can reach. The argument is a JSON array of
//! hosts. Source: docs/protocol/agent-protocol.md#6 and #7.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::ConnectivityCheckHost;

use crate::checks::connectivity;
use crate::checks::nics::Nic;
use crate::step::{Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};

/// Checks from every network card of this host.
pub struct ConnectivityCheck;

impl StepHandler for ConnectivityCheck {
    fn step_type(&self) -> StepType {
        StepType::ConnectivityCheck
    }

    /// 1,000 hosts with four addresses each, none of which replies, take 160 s.
    fn deadline(&self) -> Duration {
        Duration::from_secs(300)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        reply(running, async move {
            let hosts: Vec<ConnectivityCheckHost> = one_argument(StepType::ConnectivityCheck, &args)?;
            let report = connectivity::check(&Nic::of_this_host(), &hosts).await;
            let report = report.map_err(|error| StepError::of(StepType::ConnectivityCheck, error))?;
            Ok(StepOutput::json(&report))
        })
    }
}
