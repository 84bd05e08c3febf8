//! Tracks the medium from which a host was booted. Source: docs/protocol/host-lifecycle.md#3.2 (MediaDisconnect) and #6.

use muster_api::host::MediaStatus;
use muster_api::time::Timestamp;

use crate::lifecycle::host::refresh::refresh;
use crate::lifecycle::host::transition::move_to;
use crate::record::{Host, HostState, Phase};
use crate::rules::facts::HostFacts;

const LOST: &str = "The boot medium cannot be read any more. Attach it again";

/// The medium cannot be read any more. States that have no use for it ignore that.
pub(in crate::lifecycle::host) fn lost(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    if host.data.media_status == Some(MediaStatus::Disconnected) {
        return;
    }
    if matches!(host.state.phase(), Phase::Unbound | Phase::PreInstall) {
        host.data.media_status = Some(MediaStatus::Disconnected);
        refresh(host, facts, now);
        return;
    }
    let (state, info) = if host.state == HostState::Unbinding {
        (HostState::DisconnectedUnbound, LOST.to_owned())
    } else if host.state == HostState::Binding {
        (HostState::Disconnected, LOST.to_owned())
    } else if matches!(
        host.state,
        HostState::Installing | HostState::InstallingInProgress | HostState::Error
    ) {
        let info = format!("Failed - {LOST}. {}", host.data.status_info);
        (HostState::Error, info)
    } else {
        return;
    };
    host.data.media_status = Some(MediaStatus::Disconnected);
    move_to(host, state, &info);
}

/// A step succeeded, so the medium can be read. Returns true if it could not be read before.
pub(in crate::lifecycle::host) fn back(host: &mut Host) -> bool {
    let was_lost = host.data.media_status == Some(MediaStatus::Disconnected);
    if was_lost {
        host.data.media_status = Some(MediaStatus::Connected);
    }
    was_lost
}
