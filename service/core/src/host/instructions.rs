//! What a host is asked to do. Source: instructions.md §2.
use super::Host;
use super::facts::HostFacts;
use muster_api::steps::{StepType, Steps};

/// The answer to a poll. `step_id` makes ids: `<step type>-<8 hex digits>`.
pub fn instructions(
    host: &Host,
    facts: &HostFacts<'_>,
    step_id: &mut dyn FnMut(StepType) -> String,
) -> Steps {
    let _ = (host, facts, step_id);
    todo!()
}
