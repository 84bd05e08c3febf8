//! A change of a host as it waits to be written.

use std::sync::Arc;

use muster_api::host::HostStatus;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::{EventLimits, NewEvent, Peer};
use tokio::sync::oneshot;

use crate::Result;
use crate::row::Values;

pub(crate) type HostKey = (InfraEnvId, HostId);

/// A change of a host's state, to be stored with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    pub at: Timestamp,
    /// Who caused it: `agent`, `user`, `deadline`, ...
    pub who: String,
    /// Name of the event that was applied.
    pub event: String,
    /// `None` at the first registration.
    pub from: Option<HostStatus>,
    pub to: HostStatus,
    /// For users.
    pub reason: String,
}

/// A host that is to be written, with all that belongs to its change.
pub(crate) struct HostWrite {
    pub(super) key: HostKey,
    /// The host is stored for the first time; otherwise it was read as the version before `version`.
    pub(super) is_new: bool,
    /// The version after the change. A new host that was deleted before continues the versions of its deleted record.
    pub(super) version: i64,
    pub(super) at: Timestamp,
    pub(super) row: Values,
    pub(super) documents: Documents,
    pub(super) membership: Option<Membership>,
    pub(super) history: Option<HistoryEntry>,
    pub(super) events: Vec<NewEvent>,
    /// The id of the request that causes the change, for its events.
    pub(super) request_id: Option<String>,
    pub(super) event_limits: Arc<EventLimits>,
    /// Gets the new version.
    pub(super) answer: oneshot::Sender<Result<i64>>,
}

/// The large documents of a host, as they are written.
pub(super) struct Documents {
    pub(super) inventory: Document,
    /// Of the inventory.
    pub(super) summary: Document,
    pub(super) reports: Document,
    /// The text is not yet sealed.
    pub(super) bootstrap: Document,
}

/// A document as it is written.
pub(super) enum Document {
    /// Known to be equal to the stored one.
    Unchanged,
    None,
    /// As JSON.
    Text(String),
}

impl Document {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Unchanged | Self::None => None,
        }
    }

    /// Its length when it is written; `before`: that of the one which is stored.
    pub(super) fn size(&self, before: usize) -> usize {
        match self {
            Self::Unchanged => before,
            Self::None => 0,
            Self::Text(text) => text.len(),
        }
    }
}

/// A host's place in a cluster, as it is stored.
pub(super) struct Membership {
    pub(super) cluster_id: ClusterId,
    pub(super) peer: Peer,
    /// True while the host is being installed, for which the cluster must not be deleted.
    pub(super) installing: bool,
}
