//! The one function that changes a host.
use super::facts::HostFacts;
use super::step::{Refused, Step};
use super::{Host, HostEvent};
use muster_api::time::Timestamp;

/// What becomes of `host` when `event` happens at `now`.
///
/// # Errors
/// When the event does not fit the host; nothing changes then.
pub fn advance(
    host: &Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<Step, Refused> {
    let _ = (host, event, facts, now);
    todo!()
}
