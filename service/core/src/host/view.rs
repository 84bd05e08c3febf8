//! Hosts as the API answers them.
use super::Host;
use muster_api::host::{Host as HostView, HostRegistrationResponse};
use muster_api::time::Timestamp;

/// `last_seen` and `host_clock`: of the last poll in memory, when newer than the record. `user`: the owner's name (`admin`).
pub fn view(host: &Host, last_seen: Option<Timestamp>, host_clock: Option<i64>, user: &str) -> HostView {
    let _ = (host, last_seen, host_clock, user);
    todo!()
}

/// The answer (201) to a first registration. `told_agent_version`: see [`told_agent_version`](super::agent_version::told_agent_version).
pub fn registration_view(host: &Host, told_agent_version: &str, user: &str) -> HostRegistrationResponse {
    let _ = (host, told_agent_version, user);
    todo!()
}

/// The answer (201) to a repeated registration, which the protocol makes from fresh values and not from the record (host-lifecycle.md §3.1).
pub fn repeated_registration_view(
    host: &Host,
    told_agent_version: &str,
    user: &str,
) -> HostRegistrationResponse {
    let _ = (host, told_agent_version, user);
    todo!()
}
