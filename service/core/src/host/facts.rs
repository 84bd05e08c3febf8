//! What a decision about a host needs to know beside the host itself.

use chrono::Duration;
use muster_api::time::Timestamp;

use super::Host;
use super::requirements::Requirements;
use crate::infra_env::InfraEnv;

/// A host that has not polled for this long is disconnected. Source: host-lifecycle.md §6 (`HOST_MAX_DISCONNECTION_TIME`).
pub const SILENCE_LIMIT: Duration = Duration::minutes(3);

/// The world around a host at the moment of a decision.
#[derive(Debug, Clone, Copy)]
pub struct HostFacts<'a> {
    /// The pool that the host is in.
    pub infra_env: &'a InfraEnv,
    /// What hardware is asked for.
    pub requirements: &'a Requirements,
    /// The last poll, when it is newer than what is written down in the host.
    pub last_seen: Option<Timestamp>,
    /// The host's clock at that poll, seconds since 1970; `None` or 0 when it told none.
    pub host_clock: Option<i64>,
    /// Since when this service hears polls. Silence before that is nobody's fault, so a restart disconnects no host.
    pub listening_since: Option<Timestamp>,
    /// Version of the agent that the service wants on hosts that run ours.
    pub agent_version: &'a str,
}

impl HostFacts<'_> {
    /// The last poll known from anywhere.
    pub fn seen(&self, host: &Host) -> Timestamp {
        self.last_seen
            .map_or(host.checked_in_at, |seen| seen.max(host.checked_in_at))
    }

    /// When `host` counts as disconnected unless it polls before.
    pub fn silent_at(&self, host: &Host) -> Timestamp {
        let heard = self.seen(host);
        self.listening_since.map_or(heard, |since| since.max(heard)) + SILENCE_LIMIT
    }

    /// The host's clock and the moment at which it was told; `None` when it never was.
    pub fn clock(&self, host: &Host) -> Option<(i64, Timestamp)> {
        let stored = (host.data.timestamp != 0).then(|| {
            let told_at = host.data.timestamp_at.unwrap_or(host.checked_in_at);
            (host.data.timestamp, told_at)
        });
        let newer = |seen: &Timestamp| stored.is_none_or(|(_, told_at)| *seen >= told_at);
        match (self.host_clock, self.last_seen.filter(newer)) {
            (Some(clock), Some(seen)) if clock != 0 => Some((clock, seen)),
            (Some(_) | None, Some(_) | None) => stored,
        }
    }
}
