use serde::{Deserialize, Serialize};

use super::HostStatus;

/// A change of a host's state. An addition to the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostStateChange {
    /// RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub at: String,
    /// `null` at its first registration.
    pub from: Option<HostStatus>,
    /// The state since then.
    pub to: HostStatus,
    /// Who caused it: `agent`, `user`, `deadline` and others.
    pub who: String,
    /// What happened to the host.
    pub event: String,
    /// For users; may be empty.
    pub reason: String,
}
