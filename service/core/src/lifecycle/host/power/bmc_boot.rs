//! Finds hosts that wait for a boot which their BMC may do, and shows that in their status.

use muster_api::host::HostStatus;
use muster_api::time::Timestamp;

use crate::lifecycle::host::transition::set_info;
use crate::record::{BmcBoots, Host, HostState, NotBooted};
use crate::rules::facts::Deadlines;

/// The statuses of hosts that wait for a boot by a user. Only in these may a machine be switched off without a user's
/// request.
pub const AWAITING_BOOT: [HostStatus; 3] = [
    HostStatus::UnbindingPendingUserAction,
    HostStatus::ResettingPendingUserAction,
    HostStatus::InstallingPendingUserAction,
];

/// A wait for a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedBoot {
    pub system: AwaitedSystem,
    pub since: Timestamp,
    /// Until then the host may come back without a boot.
    pub from: Timestamp,
}

/// The system that a host is to boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwaitedSystem {
    DiscoveryImage,
    /// The installed system: the host booted the discovery image instead.
    Disk,
}

/// Returns the boot that `host` waits for, or is woken by. `from` is later by the time in which the service could not receive polls.
pub fn awaited_boot(host: &Host, deadlines: &Deadlines<'_>) -> Option<AwaitedBoot> {
    if let Some(waking) = host.data.waking() {
        return Some(AwaitedBoot {
            system: AwaitedSystem::DiscoveryImage,
            since: waking.asked_at,
            from: waking.asked_at,
        });
    }
    let system = awaited_system(host)?;
    let since = host.data.status_updated_at;
    let from = match host.data.comes_back {
        true => deadlines.after(since, deadlines.limits.silence()),
        false => since,
    };
    Some(AwaitedBoot { system, since, from })
}

fn awaited_system(host: &Host) -> Option<AwaitedSystem> {
    match host.state {
        HostState::ResettingPendingUserAction if host.boots_itself_again() => None,
        HostState::ResettingPendingUserAction | HostState::UnbindingPendingUserAction => {
            Some(AwaitedSystem::DiscoveryImage)
        }
        // A slow host may still come up.
        HostState::InstallingPendingUserAction {
            why: NotBooted::DiscoveryImage,
        } => Some(AwaitedSystem::Disk),
        _ => None,
    }
}

/// Records that the BMC is booting the host, or gave up.
pub(in crate::lifecycle::host) fn told(host: &mut Host, boots: &BmcBoots) {
    let Some(system) = awaited_system(host).filter(|_| host.data.bmc_boot.as_ref() != Some(boots)) else {
        return;
    };
    let begin = match (&host.state, system) {
        (HostState::ResettingPendingUserAction, _) if host.data.pending_reinstall().is_some() => {
            "The node is installed again, in its cluster. "
        }
        (HostState::ResettingPendingUserAction, _) => "Reset. ",
        (_, AwaitedSystem::Disk) => "The host booted the discovery image again instead of its disk. ",
        _ => "",
    };
    let (from, todo) = match system {
        AwaitedSystem::DiscoveryImage => (
            "into the discovery image",
            "Waits for somebody to do so; muster bmc discover lets the BMC try again",
        ),
        AwaitedSystem::Disk => (
            "from there",
            "Put the disk first in its boot order, or take the image away, and reboot it",
        ),
    };
    let bmc = &boots.bmc;
    let info = match &boots.failure {
        None => format!("{begin}Its BMC {bmc} boots it {from}; nobody has to do anything"),
        Some(why) => format!("{begin}Its BMC {bmc} did not boot it {from}: {why}. {todo}"),
    };
    set_info(host, &info);
    host.data.bmc_boot = Some(boots.clone());
}
