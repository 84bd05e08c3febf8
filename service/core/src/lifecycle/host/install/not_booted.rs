//! A host that did not come up from its installation disk.

use muster_api::host::HostStage;

use crate::lifecycle::host::transition::move_to;
use crate::record::{Host, HostState, NotBooted};
use crate::rules::facts::HostFacts;
use crate::rules::stages;
use crate::text::spoken;

/// The reboot took too long.
pub(in crate::lifecycle::host) fn reboot_too_slow(host: &mut Host, facts: &HostFacts<'_>) {
    let info = format!(
        "The host has not come up from {} for {}{}. Check its boot order and its console",
        installation_disk(host),
        spoken(facts.limits.of(HostStage::Rebooting)),
        host.data
            .progress
            .as_ref()
            .map(stages::awaited)
            .unwrap_or_default()
    );
    let why = NotBooted::TooSlow;
    move_to(host, HostState::InstallingPendingUserAction { why }, &info);
}

/// The discovery image came up instead of the installed system.
pub(in crate::lifecycle::host) fn booted_discovery(host: &mut Host) {
    let info = format!(
        "The host booted the discovery image again instead of {}. Put that disk first in its boot order, or take the image away, and reboot it",
        installation_disk(host)
    );
    let why = NotBooted::DiscoveryImage;
    move_to(host, HostState::InstallingPendingUserAction { why }, &info);
}

/// Model, serial number, name and id.
fn installation_disk(host: &Host) -> String {
    let data = &host.data;
    let inventory = host.inventory.as_ref();
    let mut disks = inventory.iter().flat_map(|inventory| &inventory.disks);
    let name = format!("{} ({})", data.installation_disk_path, data.installation_disk_id);
    match disks.find(|disk| disk.id == data.installation_disk_id) {
        Some(disk) => format!("its disk {} {} {name}", disk.model, disk.serial),
        None => format!("its disk {name}"),
    }
}
