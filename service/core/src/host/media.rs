//! The medium that a host was booted from. Source: docs/protocol/host-lifecycle.md#3.2 (MediaDisconnect) and §6.

use muster_api::host::MediaStatus;
use muster_api::time::Timestamp;

use super::refresh::{move_to, refresh};
use super::{Host, HostFacts, HostState};

const LOST: &str = "The boot medium cannot be read any more. Attach it again";

/// It cannot be read any more. Told in a state that has no use for it, this is no news.
pub(super) fn lost(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    if host.data.media_status == Some(MediaStatus::Disconnected) {
        return;
    }
    let gone = Some(MediaStatus::Disconnected);
    match host.state {
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound
        | HostState::Discovering
        | HostState::Known
        | HostState::Insufficient { .. }
        | HostState::PendingForInput { .. }
        | HostState::Disconnected => {
            host.data.media_status = gone;
            refresh(host, facts, now);
        }
        HostState::Unbinding => {
            host.data.media_status = gone;
            move_to(host, HostState::DisconnectedUnbound, LOST);
        }
        HostState::Binding => {
            host.data.media_status = gone;
            move_to(host, HostState::Disconnected, LOST);
        }
        HostState::Installing | HostState::InstallingInProgress | HostState::Error => {
            host.data.media_status = gone;
            let info = format!("Failed - {LOST}. {}", host.data.status_info);
            move_to(host, HostState::Error, &info);
        }
        HostState::InstallingPendingUserAction { .. }
        | HostState::AddedToExistingCluster
        | HostState::Cancelled
        | HostState::ResettingPendingUserAction
        | HostState::UnbindingPendingUserAction
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting => {}
    }
}

/// A step went well, so it can be read. Answers whether that is news.
pub(super) fn back(host: &mut Host) -> bool {
    let is_news = host.data.media_status == Some(MediaStatus::Disconnected);
    if is_news {
        host.data.media_status = Some(MediaStatus::Connected);
    }
    is_news
}
