//! Whether the host is there.

use muster_api::host::MediaStatus;

use super::Verdict;
use super::look::View;
use crate::host::facts::SILENCE_LIMIT;

/// `connected`: polled within the limit.
pub(super) fn connected(look: &View<'_>) -> Verdict {
    if look.now < look.facts.silent_at(look.host) {
        Verdict::Success("connected".into())
    } else {
        Verdict::Failure(format!(
            "disconnected: no poll for {} minutes. Check that the machine is on, runs the discovery image, and reaches this service",
            SILENCE_LIMIT.num_minutes()
        ))
    }
}

/// `media-connected`: the boot medium can be read, as far as is known.
pub(super) fn media_connected(look: &View<'_>) -> Verdict {
    match look.host.data.media_status {
        None | Some(MediaStatus::Connected) => Verdict::Success("The boot medium can be read".into()),
        Some(MediaStatus::Disconnected) => Verdict::Failure(
            "The boot medium cannot be read any more. Keep it attached while the host is discovered and installed; over a slow BMC link boot a smaller image or by network".into(),
        ),
    }
}
