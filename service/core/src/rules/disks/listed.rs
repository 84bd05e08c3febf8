//! Distinguishes hosts without disks from hosts with unfit disks, and disks of a machine from what is made of them.

use muster_api::inventory::Disk;

use super::{holds, main_path};

/// The disks of an inventory without CD drives, which users do not count as disks.
pub fn listed(disks: &[Disk]) -> impl Iterator<Item = &Disk> {
    disks.iter().filter(|disk| disk.drive_type != "ODD")
}

/// The disks of the machine: each once, none that is made of others.
pub(crate) fn own_disks(all: &[Disk]) -> impl Iterator<Item = &Disk> {
    let is_path = move |disk: &Disk| {
        let is_second = main_path(disk, all).is_some_and(|main| main.name != disk.name);
        let holds_it = |other: &Disk| other.drive_type == "Multipath" && holds(disk, &other.name);
        is_second || all.iter().any(holds_it)
    };
    let is_made = |disk: &Disk| matches!(disk.drive_type.as_str(), "FDD" | "LVM" | "RAID");
    listed(all).filter(move |disk| !is_made(disk) && !disk.is_installation_media && !is_path(disk))
}

/// The message for a host that lists no disks; `None`: it lists some.
pub fn none_listed(disks: &[Disk]) -> Option<&'static str> {
    listed(disks).next().is_none().then_some(
        "The host lists no disks at all; check controllers, cabling and that the discovery image has their driver",
    )
}
