//! Counts failures of a host, and forgets them: by its success, by a repair, by a person.

use muster_api::host::HostStage;
use muster_api::time::Timestamp;

use super::deadline;
use super::event::HostEvent;
use crate::record::{Host, HostState, Phase};
use crate::rules::facts::HostFacts;
use crate::rules::failures::{self, Failed};
use crate::rules::findings::FAILED_BEFORE;

/// Stage of failures of nodes.
const NODE: &str = "node";

/// The request to install: what fails from now on counts.
pub(super) fn installation_begins(host: &mut Host) {
    if let Some(failures) = &mut host.data.failures {
        failures.is_counted = false;
    }
}

/// A node was lost, or did not come up, and its machine is replaced. An installation that did not get so far, e.g. for want
/// of an image, does not count.
pub(super) fn node_failed(host: &mut Host, reason: &str, now: Timestamp) {
    let was_node = matches!(
        host.state,
        HostState::AddedToExistingCluster | HostState::Reclaiming | HostState::ReclaimingRebooting
    );
    let stage = host.data.progress.as_ref().map(|progress| progress.stage);
    let was_coming = host.state.phase() == Phase::Installing && failures::is_of_host(stage, "");
    if was_node || was_coming {
        count(host, NODE, reason, now);
    }
}

/// A person has looked at the host.
pub(super) fn forget(host: &mut Host) {
    host.data.failures = None;
}

/// Derives the failures from the change from `old` to `next`, and sets the finding about them.
pub(super) fn follow(old: &Host, next: &mut Host, event: &HostEvent, facts: &HostFacts<'_>, now: Timestamp) {
    if old.state.status() != next.state.status() {
        if next.state == HostState::AddedToExistingCluster {
            next.data.failures = None;
        } else if ends_in_failure(old, next) && is_of_host(old, event, facts, now) {
            let progress = old.data.progress.as_ref();
            let stage = progress.map_or(old.state.status().name(), |progress| progress.stage.name());
            let reason = next.data.status_info.clone();
            count(next, stage, &reason, now);
        }
    }
    if matches!(event, HostEvent::InventoryReported(_))
        && let (Some(before), Some(inventory)) = (&next.data.failures, next.inventory.as_deref())
    {
        next.data.failures = failures::after_inventory(before, inventory);
    }
    note(next);
}

fn count(host: &mut Host, stage: &str, reason: &str, now: Timestamp) {
    let before = host.data.failures.as_ref();
    let failed = Failed {
        stage,
        reason,
        cluster: host.cluster_id,
    };
    let counted = failures::after_one_more(before, failed, host.inventory.as_deref(), now);
    host.data.failures = Some(counted);
}

/// True if an installation failed. A node that a person boots from the discovery image did not.
fn ends_in_failure(old: &Host, next: &Host) -> bool {
    let has_failed = matches!(
        next.state,
        HostState::Error | HostState::InstallingPendingUserAction { .. }
    );
    has_failed && old.state.phase() == Phase::Installing
}

/// True if the machine is at fault for the end of its installation, as far as can be seen.
fn is_of_host(old: &Host, event: &HostEvent, facts: &HostFacts<'_>, now: Timestamp) -> bool {
    let stage: Option<HostStage> = old.data.progress.as_ref().map(|progress| progress.stage);
    match event {
        HostEvent::InstallationFailed { reason } => failures::is_of_host(stage, reason),
        HostEvent::Progressed { info, .. } => failures::is_of_host(stage, info),
        // It restarted in the middle, or booted the discovery image instead of its disk.
        HostEvent::Registered { .. } => true,
        // The medium may be one that this service offers.
        HostEvent::MediaLost => false,
        _ => {
            let is_silent = deadline::silence(old, facts).is_some_and(|limit| now >= limit);
            is_silent || failures::is_of_host(stage, "")
        }
    }
}

/// Sets the finding about the failures, or removes it.
fn note(host: &mut Host) {
    let finding = host.data.failures.as_ref().map(failures::finding);
    host.data.set_finding(FAILED_BEFORE, finding);
}
