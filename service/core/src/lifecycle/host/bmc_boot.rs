//! Tells when a host waits for a boot that its BMC may do, and says so where users look.

use muster_api::host::HostStatus;
use muster_api::time::Timestamp;

use super::transition::set_info;
use crate::record::{BmcBoots, Host, HostState};
use crate::rules::limits::WaitLimits;

/// The statuses of hosts that wait for somebody to boot them into the discovery image. In no other is a machine switched off unasked.
pub const AWAITING_BOOT: [HostStatus; 2] = [
    HostStatus::UnbindingPendingUserAction,
    HostStatus::ResettingPendingUserAction,
];

/// A wait for a boot into the discovery image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedBoot {
    pub since: Timestamp,
    /// Until then it may come back by itself.
    pub from: Timestamp,
}

/// The boot that `host` waits for.
pub fn awaited_boot(host: &Host, limits: &WaitLimits) -> Option<AwaitedBoot> {
    let since = host.data.status_updated_at;
    let from = match host.data.comes_back {
        true => since + limits.silence(),
        false => since,
    };
    awaits(host).then_some(AwaitedBoot { since, from })
}

fn awaits(host: &Host) -> bool {
    AWAITING_BOOT.contains(&host.state.status())
}

/// Its BMC is at it, or gave up.
pub(super) fn told(host: &mut Host, boots: &BmcBoots) {
    if !awaits(host) || host.data.bmc_boot.as_ref() == Some(boots) {
        return;
    }
    let begin = match host.state {
        HostState::ResettingPendingUserAction => "Reset. ",
        _ => "",
    };
    let bmc = &boots.bmc;
    let info = match &boots.failure {
        None => format!("{begin}Its BMC {bmc} boots it into the discovery image; nobody has to do anything"),
        Some(why) => format!(
            "{begin}Its BMC {bmc} did not boot it into the discovery image: {why}. Waits for somebody to do so; muster bmc discover lets the BMC try again"
        ),
    };
    set_info(host, &info);
    host.data.bmc_boot = Some(boots.clone());
}
