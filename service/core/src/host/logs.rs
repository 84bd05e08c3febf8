//! How the collecting of logs goes. Source: docs/protocol/rest-behaviour.md#3.5.

use muster_api::time::Timestamp;

use super::step::{RefusalClass, Refused};
use super::{Host, HostEvent, deadline, news};
use crate::event::NewEvent;

const STATES: [&str; 5] = ["requested", "collecting", "completed", "timeout", ""];

/// The host told.
pub(super) fn progressed(
    host: &mut Host,
    event: &HostEvent,
    state: &str,
    now: Timestamp,
) -> Result<(), Refused> {
    if !STATES.contains(&state) {
        return Err(Refused::by_state(
            host,
            event,
            RefusalClass::BadInput,
            "logs_state must be requested, collecting, completed, timeout or empty",
        ));
    }
    let logs = &mut host.data.logs;
    if logs.info != state {
        state.clone_into(&mut logs.info);
        if state == "requested" {
            logs.started_at = Some(now);
        }
    }
    Ok(())
}

/// An archive has come.
pub(super) fn uploaded(host: &mut Host, now: Timestamp, news: &mut Vec<NewEvent>) {
    host.data.logs.collected_at = Some(now);
    "collecting".clone_into(&mut host.data.logs.info);
    news.push(news::host_logs_uploaded(host, now));
}

/// Logs that were begun are not waited for any longer.
pub(super) fn give_up_late_ones(host: &mut Host, now: Timestamp) {
    if deadline::logs_limit(host).is_some_and(|limit| now >= limit) {
        "timeout".clone_into(&mut host.data.logs.info);
    }
}
