//! The outcome of an event: the changed record with its history, or the refusal.

use muster_api::host::HostStatus;
use thiserror::Error;

use super::event::HostEvent;
use crate::record::{Host, NewEvent};

/// The outcome of an accepted event.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The host from now on.
    pub host: Host,
    /// To be stored together with it.
    pub events: Vec<NewEvent>,
    /// From, to and reason, when the status changed; a new host has none.
    pub transition: Option<(HostStatus, HostStatus, String)>,
    /// False: nothing has to be written.
    pub changed: bool,
    /// True: only `due_at` moved, which need not be written by a caller that keeps deadlines in memory.
    pub only_due_at: bool,
}

/// An event that was not accepted. `reason` holds the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Refused {
    pub class: RefusalClass,
    /// The host's status; `None` when there was no host yet.
    pub status: Option<HostStatus>,
    /// [`HostEvent::name`].
    pub event: &'static str,
    /// For users.
    pub reason: String,
}

/// Classes of refusals, which the HTTP layer maps to status codes (docs/protocol/rest-behaviour.md#3.4 and #5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalClass {
    /// Well-formed, but not in this situation (409).
    UserConflict,
    /// Wrong in itself (400).
    BadInput,
    /// An agent's report that does not fit the state (409; 500 in the protocol's first implementation).
    NotAccepted,
}

/// A refusal, before host and event are added.
#[derive(Debug)]
pub(super) struct Rejection {
    class: RefusalClass,
    why: String,
    /// True: the reason begins with the host's status and the event.
    by_state: bool,
}

impl Rejection {
    /// The event conflicts with the host's situation.
    pub(super) fn conflict(why: impl Into<String>) -> Self {
        Self::by_state(RefusalClass::UserConflict, why)
    }

    /// The event's content is wrong.
    pub(super) fn bad_input(why: impl Into<String>) -> Self {
        Self::by_state(RefusalClass::BadInput, why)
    }

    /// The report was not requested from the agent.
    pub(super) fn not_accepted(why: impl Into<String>) -> Self {
        Self::by_state(RefusalClass::NotAccepted, why)
    }

    /// `reason` is a whole sentence that needs neither status nor event.
    pub(super) fn plain(class: RefusalClass, reason: impl Into<String>) -> Self {
        Self {
            class,
            why: reason.into(),
            by_state: false,
        }
    }

    fn by_state(class: RefusalClass, why: impl Into<String>) -> Self {
        Self {
            class,
            why: why.into(),
            by_state: true,
        }
    }

    /// The refusal of `event` for `host`.
    pub(super) fn of(self, host: &Host, event: &HostEvent) -> Refused {
        let (status, event) = (host.state.status(), event.name());
        let reason = if self.by_state {
            let (status, why) = (status.name(), self.why);
            format!("The host is {status}, and does not take {event}: {why}")
        } else {
            self.why
        };
        Refused {
            class: self.class,
            status: Some(status),
            event,
            reason,
        }
    }
}
