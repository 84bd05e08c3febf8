//! Tracks the collecting of a host's logs. Source: docs/protocol/rest-behaviour.md#3.5.

use muster_api::host::LogsProgressState;
use muster_api::time::Timestamp;

use super::{deadline, events};
use crate::record::{Host, NewEvent};
use crate::rules::facts::HostFacts;

/// The host reports the state of the collecting.
pub(super) fn progressed(host: &mut Host, state: LogsProgressState, now: Timestamp) {
    let logs = &mut host.data.logs;
    if logs.info != state {
        logs.info = state;
        if state == LogsProgressState::Requested {
            logs.started_at = Some(now);
        }
    }
}

/// An archive was uploaded.
pub(super) fn uploaded(host: &mut Host, now: Timestamp, events: &mut Vec<NewEvent>) {
    host.data.logs.collected_at = Some(now);
    host.data.logs.info = LogsProgressState::Collecting;
    events.push(events::host_logs_uploaded(host, now));
}

/// Ends the wait for logs that are overdue.
pub(super) fn give_up_late_ones(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    if deadline::logs_limit(host, facts).is_some_and(|limit| now >= limit) {
        host.data.logs.info = LogsProgressState::Timeout;
    }
}
