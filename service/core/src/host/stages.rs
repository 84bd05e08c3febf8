//! The stages of an installation: which a role goes through, how far each is, how long it may take. Source: docs/protocol/host-lifecycle.md#5.

use chrono::Duration;
use muster_api::host::{HostKind, HostRole};

use super::HostData;

/// The machine restarts from its disk.
pub const REBOOTING: &str = "Rebooting";
/// The last stage.
pub const DONE: &str = "Done";
/// Not a stage but the end of one.
pub const FAILED: &str = "Failed";

/// How long a host may be asked to install before it begins.
pub const START_LIMIT: Duration = Duration::minutes(20);

/// The stages that an installation of this role goes through. A host that is added to a cluster ends with its reboot where no
/// controller sees the node come up (`kube` false).
pub fn of(role: HostRole, kind: HostKind, kube: bool) -> &'static [&'static str] {
    let all = all(role);
    match kind {
        HostKind::AddToExistingClusterHost if !kube => {
            let end = all.iter().position(|stage| *stage == REBOOTING);
            &all[..end.map_or(0, |index| index + 1)]
        }
        HostKind::AddToExistingClusterHost | HostKind::Host => all,
    }
}

fn all(role: HostRole) -> &'static [&'static str] {
    match role {
        HostRole::AutoAssign => &[],
        HostRole::Master | HostRole::Arbiter => &[
            "Starting installation",
            "Installing",
            "Writing image to disk",
            "Copying registry data to disk",
            REBOOTING,
            "Configuring",
            "Joined",
            DONE,
        ],
        HostRole::Worker => &[
            "Starting installation",
            "Installing",
            "Writing image to disk",
            "Waiting for control plane",
            REBOOTING,
            "Waiting for ignition",
            "Configuring",
            "Joined",
            DONE,
        ],
        HostRole::Bootstrap => &[
            "Starting installation",
            "Installing",
            "Writing image to disk",
            "Copying registry data to disk",
            "Waiting for control plane",
            "Waiting for bootkube",
            "Waiting for controller",
            REBOOTING,
            "Configuring",
            "Joined",
            DONE,
        ],
    }
}

/// Where `stage` stands in `list`; the end of a list that is cut off after the reboot is [`DONE`].
pub fn position(list: &[&str], stage: &str) -> Option<usize> {
    let last_is_done = stage == DONE && list.last() == Some(&REBOOTING);
    list.iter()
        .position(|known| *known == stage || last_is_done && *known == REBOOTING)
}

/// How far an installation at this place of a list is, 0 to 100; an unknown stage counts as nothing.
pub fn percentage(list: &[&str], position: Option<usize>) -> i64 {
    let done = position.map_or(0, |index| index + 1);
    i64::try_from(done * 100 / list.len().max(1))
        .unwrap_or(100)
        .min(100)
}

/// How long a stage may stay without news.
pub fn limit(stage: &str) -> Duration {
    match stage {
        "Starting installation" | "Writing image to disk" => Duration::minutes(30),
        "Copying registry data to disk" => Duration::minutes(90),
        REBOOTING => Duration::minutes(40),
        "Waiting for ignition" => Duration::hours(24),
        _ => Duration::minutes(60),
    }
}

/// From its reboot on a host runs no agent, so its silence means nothing.
pub fn has_agent(data: &HostData) -> bool {
    let Some(progress) = &data.progress else {
        return true;
    };
    !matches!(
        progress.stage.as_str(),
        REBOOTING | "Waiting for ignition" | "Configuring" | "Joined" | DONE
    )
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
                .map(|stage| percentage(list, position(list, stage)))
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
        assert_eq!(percentage(list, position(list, DONE)), 100);
        assert_eq!(percentage(list, position(list, "Dancing")), 0);
        assert_eq!(percentage(&[], None), 0);
    }
}
