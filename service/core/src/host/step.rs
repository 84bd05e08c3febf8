//! What follows from an event: the new record, and what is told about it. Or why nothing follows.

use muster_api::host::HostStatus;
use thiserror::Error;

use super::{Host, HostEvent};
use crate::event::NewEvent;

/// The outcome of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The host from now on.
    pub host: Host,
    /// To be stored together with it.
    pub events: Vec<NewEvent>,
    /// From, to and why, when the status changed; a new host has none.
    pub transition: Option<(HostStatus, HostStatus, String)>,
    /// False: there is nothing to write.
    pub changed: bool,
    /// True: nothing but `due_at` moved. Who keeps deadlines in memory need not write it.
    pub only_due_at: bool,
}

/// An event that cannot be accepted. `reason` says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Refused {
    /// Whose fault.
    pub class: RefusalClass,
    /// Where the host stood; `None` when there was no host yet.
    pub status: Option<HostStatus>,
    /// [`HostEvent::name`](super::HostEvent::name).
    pub event: &'static str,
    /// For people.
    pub reason: String,
}

impl Refused {
    /// Of an event that the host's state does not take. The reason names state and event.
    pub(super) fn by_state(host: &Host, event: &HostEvent, class: RefusalClass, why: &str) -> Self {
        let status = host.state.status();
        Self {
            class,
            status: Some(status),
            event: event.name(),
            reason: format!(
                "The host is {}, and does not take {}: {why}",
                status.name(),
                event.name()
            ),
        }
    }
}

/// Whose fault a refusal is. The HTTP layer turns this into codes (docs/protocol/rest-behaviour.md#3.4, §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalClass {
    /// Well-formed, but not in this situation (409).
    UserConflict,
    /// Wrong in itself (400).
    BadInput,
    /// An agent's report that does not fit the state (409; 500 in the protocol's first implementation).
    NotAccepted,
}
