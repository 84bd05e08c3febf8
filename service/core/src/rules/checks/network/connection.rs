//! Checks that the host polls and can read its boot medium.

use muster_api::host::MediaStatus;

use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::Verdict;
use crate::text::spoken;

/// `connected`: polled within the limit.
pub(in crate::rules::checks) fn connected(context: &CheckContext<'_>) -> Verdict {
    if context.now < context.facts.silent_at(context.host) {
        Verdict::Success("connected".into())
    } else {
        Verdict::Failure(format!(
            "disconnected: no poll for {}. Check that the machine is on, runs the discovery image, and reaches this service",
            spoken(context.facts.limits.silence())
        ))
    }
}

/// `media-connected`: the boot medium can be read, as far as is known.
pub(in crate::rules::checks) fn media_connected(context: &CheckContext<'_>) -> Verdict {
    match context.host.data.media_status {
        None | Some(MediaStatus::Connected) => Verdict::Success("The boot medium can be read".into()),
        Some(MediaStatus::Disconnected) => Verdict::Failure(
            "The boot medium cannot be read any more. Keep it attached while the host is discovered and installed; over a slow BMC link boot a smaller image or by network".into(),
        ),
    }
}
