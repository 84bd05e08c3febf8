//! The request to install the host of an Agent again, by an annotation, and the answer in another one.

use kube::ResourceExt;
use muster_api::time::Timestamp;
use muster_core::record::Host;
use muster_resources::names::annotation::AGENT_REINSTALL_REQUESTED;

use super::reboot::{Last, answered};
use crate::agent::cached::CachedAgent;

/// The request of the annotation; `None`: there is none, or it is no time.
pub(super) fn requested(agent: &CachedAgent) -> Option<Timestamp> {
    agent.annotations().get(AGENT_REINSTALL_REQUESTED)?.parse().ok()
}

/// The answer to the last request, for the annotation; `None`: there was none.
pub fn answer(agent: &CachedAgent, host: &Host) -> Option<String> {
    let last = host.data.asked_reinstall.as_ref().map(|asked| Last {
        requested_at: asked.requested_at,
        by: String::new(),
        outcome: asked.outcome.as_ref(),
        is_refused: asked.is_refused,
    });
    answered(agent.annotations().get(AGENT_REINSTALL_REQUESTED), last)
}
