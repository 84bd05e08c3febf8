//! Distinguishes hosts without disks from hosts with unfit disks.

use muster_api::inventory::Disk;

/// The disks of an inventory without CD drives, which users do not count as disks.
pub fn listed(disks: &[Disk]) -> impl Iterator<Item = &Disk> {
    disks.iter().filter(|disk| disk.drive_type != "ODD")
}

/// The message for a host that lists no disks; `None`: it lists some.
pub fn none_listed(disks: &[Disk]) -> Option<&'static str> {
    listed(disks).next().is_none().then_some(
        "The host lists no disks at all; check controllers, cabling and that the discovery image has their driver",
    )
}
