//! Shows the last request for a host's logs.

use chrono::Duration;
use muster_api::host::{HostLogArchive, HostLogs, HostLogsState};
use muster_api::time::millis;

use crate::lifecycle::host::{deadline, instructions};
use crate::record::{Host, LogsOutcome};
use crate::rules::facts::HostFacts;

/// The request, and `archive`, the last stored logs of the host.
pub fn shown_logs(host: &Host, facts: &HostFacts<'_>, archive: Option<HostLogArchive>) -> HostLogs {
    let Some(asked) = &host.data.asked_logs else {
        return HostLogs {
            archive,
            ..HostLogs::default()
        };
    };
    let asked_at = Some(millis(Some(asked.asked_at)));
    let (state, reason) = match &asked.outcome {
        None => (HostLogsState::Asked, None),
        Some(LogsOutcome::Came) => (HostLogsState::Came, None),
        Some(LogsOutcome::Failed(reason)) => (HostLogsState::Failed, Some(reason.clone())),
    };
    let is_open = asked.outcome.is_none();
    let next_poll = facts.seen(host) + Duration::seconds(instructions::next_secs(host, facts));
    HostLogs {
        state,
        asked_at,
        until: deadline::asked_logs_limit(host, facts).map(|limit| millis(Some(limit))),
        next_poll_at: is_open.then(|| millis(Some(next_poll))),
        reason,
        archive,
    }
}
