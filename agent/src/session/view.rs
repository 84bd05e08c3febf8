//! What people are shown of the session.

use muster_api::ids::HostId;
use tokio::time::Instant;

/// How far the conversation is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing asked yet.
    #[default]
    Starting,
    /// Not known to the service.
    Registering,
    /// Known; asks for instructions.
    Registered,
}

/// A moment of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionView {
    /// How far the conversation is.
    pub phase: Phase,
    /// Who the host is to the service.
    pub host_id: Option<HostId>,
    /// The last thing that went wrong, gone when it goes right again.
    pub trouble: Option<String>,
    /// What to do about it.
    pub advice: &'static str,
    /// When the next request is due.
    pub next_request: Option<Instant>,
}
