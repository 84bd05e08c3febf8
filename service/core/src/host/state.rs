//! Where a host stands. Source: host-lifecycle.md §1.

use muster_api::host::HostStatus;
use serde::{Deserialize, Serialize};

/// The states of a host in the pool of an InfraEnv, with what belongs to each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum HostState {
    /// Registered, no usable inventory yet.
    DiscoveringUnbound,
    /// All gating checks pass: ready to be bound.
    KnownUnbound,
    /// Gating checks fail.
    InsufficientUnbound {
        /// Ids of the failed checks, in the order of the table.
        failed: Vec<String>,
    },
    /// Silent for longer than allowed, or its boot medium is gone.
    DisconnectedUnbound,
}

impl HostState {
    /// The name on the wire.
    pub fn status(&self) -> HostStatus {
        match self {
            Self::DiscoveringUnbound => HostStatus::DiscoveringUnbound,
            Self::KnownUnbound => HostStatus::KnownUnbound,
            Self::InsufficientUnbound { .. } => HostStatus::InsufficientUnbound,
            Self::DisconnectedUnbound => HostStatus::DisconnectedUnbound,
        }
    }
}
