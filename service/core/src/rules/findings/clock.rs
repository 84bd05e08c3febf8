//! Finds clocks that differ. Source of the limits that gate: docs/protocol/host-lifecycle.md#12; these ones are
//! stricter, since certificates, etcd and logs suffer long before.

use muster_api::host::HostFinding;

use super::cluster_context::{ClusterContext, list, name};
use super::finding::finding;
use super::kinds::CLOCK_OFFSET;
use crate::record::{Host, Peer};
use crate::rules::facts::HostFacts;

/// Differences up to this are ignored, seconds. Hosts report whole seconds, and the network takes its time.
const LIMIT_SECS: u64 = 30;

/// Size of a difference, in steps so that the text stays while the clock runs.
const STEPS: [(u64, &str); 12] = [
    (7 * 86_400, "a week"),
    (86_400, "a day"),
    (12 * 3600, "12 hours"),
    (5 * 3600, "5 hours"),
    (2 * 3600, "2 hours"),
    (3600, "an hour"),
    (1800, "30 minutes"),
    (600, "10 minutes"),
    (300, "5 minutes"),
    (120, "2 minutes"),
    (60, "a minute"),
    (LIMIT_SECS, "30 seconds"),
];

const WHAT_TO_DO: &str =
    "Set it in the firmware, or give the InfraEnv time sources that the host reaches (UDP port 123)";

/// The host's clock against the service's.
pub(super) fn against_service(host: &Host, facts: &HostFacts<'_>) -> Option<HostFinding> {
    let ahead = facts.clock_offset(host)?;
    let size = more_than(ahead.unsigned_abs())?;
    let direction = if ahead > 0 { "ahead of" } else { "behind" };
    let message = format!("The host's clock is more than {size} {direction} the service's. {WHAT_TO_DO}");
    Some(finding(CLOCK_OFFSET, "service", [], message))
}

/// The host's clock against those of others. Of two that differ, the host with the clock farther from the service's
/// gets the finding, so that one wrong clock is not reported for every host.
pub(super) fn among_hosts(context: &ClusterContext<'_>) -> Option<HostFinding> {
    let own = context.clock_offset?;
    let differing: Vec<(&Peer, u64)> = context
        .awake()
        .filter_map(|peer| {
            let other = context.clock_offset_of(peer)?;
            let difference = own.abs_diff(other);
            (difference > LIMIT_SECS && own.unsigned_abs() >= other.unsigned_abs())
                .then_some((peer, difference))
        })
        .collect();
    let least = differing.iter().map(|(_, difference)| *difference).min()?;
    let size = more_than(least)?;
    let names: Vec<String> = differing.iter().map(|(peer, _)| name(peer)).collect();
    let message = format!(
        "The host's clock and that of {} differ by more than {size}. {WHAT_TO_DO}",
        list(&names)
    );
    Some(finding(
        CLOCK_OFFSET,
        "hosts",
        differing.iter().map(|(peer, _)| peer.id),
        message,
    ))
}

fn more_than(secs: u64) -> Option<&'static str> {
    STEPS.iter().find(|(step, _)| secs > *step).map(|(_, text)| *text)
}
