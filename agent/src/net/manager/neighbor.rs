//! The other end of a card's cable.

use muster_api::inventory::SwitchPort;
use tokio::time::Instant;

use super::task::Tasks;

/// The data that a card's switch advertises about its port.
#[derive(Default)]
pub(super) struct Neighbor {
    pub listener: Tasks,
    pub port: Option<SwitchPort>,
    /// Time of the last change.
    pub changed_at: Option<Instant>,
}
