//! The state of the session for the console.

use muster_api::ids::HostId;
use tokio::time::Instant;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing sent yet.
    #[default]
    Starting,
    /// Not known to the service.
    Registering,
    /// Known to the service; polls for instructions.
    Registered,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionView {
    pub phase: Phase,
    /// The host's id at the service.
    pub host_id: Option<HostId>,
    /// The last failure; `None` after a success.
    pub problem: Option<String>,
    /// Advice to the administrator.
    pub advice: &'static str,
    pub next_request: Option<Instant>,
    /// The service's certificate is not valid by this machine's clock.
    pub clock_is_doubted: bool,
}
