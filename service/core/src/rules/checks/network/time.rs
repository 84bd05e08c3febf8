//! Checks clocks and time sources.

use muster_api::steps::NtpSourceState;

use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::Verdict;

/// Limit for the service's clock to be ahead of the host's, minutes.
const HOST_BEHIND_MINUTES: i64 = 20;
/// Limit for the host's clock to be ahead of the service's, minutes.
const HOST_AHEAD_MINUTES: i64 = 60;

/// `ntp-synced`: informs only. Not shown for unbound hosts while no source is configured and none is in use.
pub(in crate::rules::checks) fn ntp_synced(context: &CheckContext<'_>) -> Verdict {
    let synced = context
        .host
        .data
        .ntp_sources
        .iter()
        .flatten()
        .any(|source| source.source_state == Some(NtpSourceState::Synced));
    let configured = !context.facts.infra_env.ntp_source_list().is_empty();
    if synced {
        Verdict::Success("The host's clock follows a time source".into())
    } else if configured || context.bound().is_some() {
        Verdict::Failure(
            "The host's clock follows none of its time sources; check that they can be reached (UDP port 123)".into(),
        )
    } else {
        Verdict::Hidden
    }
}

/// `time-synced-between-host-and-service`: compared at the host's last poll.
pub(in crate::rules::checks) fn clocks_agree(context: &CheckContext<'_>) -> Verdict {
    let Some(ahead_secs) = context.facts.clock_offset(context.host) else {
        return Verdict::Pending("Waits for the host to report its time".into());
    };
    let minutes = ahead_secs.unsigned_abs() / 60;
    if ahead_secs > HOST_AHEAD_MINUTES * 60 {
        Verdict::Failure(format!(
            "The host's clock is {minutes} minutes ahead of the service's (at most {HOST_AHEAD_MINUTES} are allowed); set it, or give the InfraEnv time sources"
        ))
    } else if ahead_secs < -HOST_BEHIND_MINUTES * 60 {
        Verdict::Failure(format!(
            "The host's clock is {minutes} minutes behind the service's (at most {HOST_BEHIND_MINUTES} are allowed); set it, or give the InfraEnv time sources"
        ))
    } else {
        Verdict::Success("The clocks of host and service agree".into())
    }
}
