//! The stages of an installation: their order by role, their progress, their limits. Source: docs/protocol/host-lifecycle.md#5.

use chrono::Duration;
use muster_api::host::HostStage::{
    Configuring, CopyingRegistryDataToDisk, Done, Failed, Installing, Joined, Rebooting,
    StartingInstallation, WaitingForBootkube, WaitingForControlPlane, WaitingForController,
    WaitingForIgnition, WritingImageToDisk,
};
use muster_api::host::{HostKind, HostRole, HostStage, HostStatus};
use muster_api::time::Timestamp;

use crate::record::{HostData, HostState, Progress};

/// Time from the request to install until the installation must have begun.
pub const START_LIMIT: Duration = Duration::minutes(20);

/// The stages of an installation in this role. A host that is added to a cluster ends with its reboot if no controller
/// sees the node come up (`kube` false).
pub fn of(role: HostRole, kind: HostKind, kube: bool) -> &'static [HostStage] {
    let all = all(role);
    match kind {
        HostKind::AddToExistingClusterHost if !kube => {
            let end = all.iter().position(|stage| *stage == Rebooting);
            &all[..end.map_or(0, |index| index + 1)]
        }
        HostKind::AddToExistingClusterHost | HostKind::Host => all,
    }
}

fn all(role: HostRole) -> &'static [HostStage] {
    match role {
        HostRole::AutoAssign => &[],
        HostRole::Master | HostRole::Arbiter => &[
            StartingInstallation,
            Installing,
            WritingImageToDisk,
            CopyingRegistryDataToDisk,
            Rebooting,
            Configuring,
            Joined,
            Done,
        ],
        HostRole::Worker => &[
            StartingInstallation,
            Installing,
            WritingImageToDisk,
            WaitingForControlPlane,
            Rebooting,
            WaitingForIgnition,
            Configuring,
            Joined,
            Done,
        ],
        HostRole::Bootstrap => &[
            StartingInstallation,
            Installing,
            WritingImageToDisk,
            CopyingRegistryDataToDisk,
            WaitingForControlPlane,
            WaitingForBootkube,
            WaitingForController,
            Rebooting,
            Configuring,
            Joined,
            Done,
        ],
    }
}

/// The index of `stage` in `list`; the end of a list that is cut off after the reboot is `Done`.
pub fn position(list: &[HostStage], stage: HostStage) -> Option<usize> {
    let last_is_done = stage == Done && list.last() == Some(&Rebooting);
    list.iter()
        .position(|known| *known == stage || last_is_done && *known == Rebooting)
}

/// Progress of an installation at this index of a list, 0 to 100; a stage that is not in the list counts as 0.
pub fn percentage(list: &[HostStage], position: Option<usize>) -> i64 {
    let done = position.map_or(0, |index| index + 1);
    i64::try_from(done * 100 / list.len().max(1))
        .unwrap_or(100)
        .min(100)
}

/// True from the reboot into the installed system on: the host runs no agent any more. Source: docs/protocol/host-lifecycle.md#6.
pub fn is_late(stage: HostStage) -> bool {
    match stage {
        Rebooting | WaitingForIgnition | Configuring | Joined | Done => true,
        StartingInstallation
        | Installing
        | WritingImageToDisk
        | CopyingRegistryDataToDisk
        | WaitingForControlPlane
        | WaitingForBootkube
        | WaitingForController
        | Failed => false,
    }
}

/// True if the disk holds the system that the machine should run.
pub fn boots_from_disk(state: &HostState, data: &HostData) -> bool {
    match state.status() {
        HostStatus::AddedToExistingCluster | HostStatus::Installed => true,
        HostStatus::InstallingInProgress => !has_agent(data),
        _ => false,
    }
}

/// False once the host has rebooted into the installed system: its silence then means nothing.
pub fn has_agent(data: &HostData) -> bool {
    data.progress
        .as_ref()
        .is_none_or(|progress| !is_late(progress.stage))
}

/// Beginning of the time limit of a stage. After the reboot only controllers report, and their texts about the awaited
/// event do not restart the wait.
pub fn waits_since(progress: &Progress) -> Timestamp {
    if is_late(progress.stage) {
        progress.stage_started_at
    } else {
        progress.stage_updated_at
    }
}

/// The controllers' text about the awaited event after the reboot, as the end of a sentence; empty: there is none.
pub fn awaited(progress: &Progress) -> String {
    if is_late(progress.stage) && !progress.info.is_empty() {
        format!(" ({})", progress.info)
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY2: HostKind = HostKind::AddToExistingClusterHost;

    #[test]
    fn percentages_are_those_of_the_table() {
        let of_all = |role, kind, kube| -> Vec<i64> {
            let list = of(role, kind, kube);
            list.iter()
                .map(|stage| percentage(list, position(list, *stage)))
                .collect()
        };
        assert_eq!(of_all(HostRole::Worker, DAY2, false), [20, 40, 60, 80, 100]);
        assert_eq!(of_all(HostRole::Master, DAY2, false), [20, 40, 60, 80, 100]);
        assert_eq!(
            of_all(HostRole::Worker, DAY2, true),
            [11, 22, 33, 44, 55, 66, 77, 88, 100]
        );
        assert_eq!(of_all(HostRole::Bootstrap, HostKind::Host, true).len(), 11);
        assert!(of(HostRole::AutoAssign, DAY2, false).is_empty());
        let list = of(HostRole::Worker, DAY2, false);
        assert_eq!(percentage(list, position(list, Done)), 100);
        assert_eq!(percentage(list, position(list, Failed)), 0);
        assert_eq!(percentage(&[], None), 0);
    }
}
