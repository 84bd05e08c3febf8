//! Distinguishes hosts without disks from hosts with unfit disks, and disks of a machine from what is made of them.

use std::collections::HashSet;

use muster_api::inventory::Disk;

use super::unit::main_paths;

/// The disks of an inventory without CD drives, which users do not count as disks.
pub fn listed(disks: &[Disk]) -> impl Iterator<Item = &Disk> {
    disks.iter().filter(|disk| disk.drive_type != "ODD")
}

/// The disks of the machine: each once, none that is made of others. Takes time in proportion to their number.
pub(crate) fn own_disks(all: &[Disk]) -> impl Iterator<Item = &Disk> {
    let main_paths = main_paths(all);
    let multipaths: HashSet<&str> = all
        .iter()
        .filter(|disk| disk.drive_type == "Multipath" && !disk.name.is_empty())
        .map(|disk| disk.name.as_str())
        .collect();
    let is_path = move |disk: &Disk| {
        let is_second = main_paths.of(disk).is_some_and(|main| main.name != disk.name);
        let mut holders = disk.holders.split(',').map(str::trim);
        is_second || holders.any(|holder| multipaths.contains(holder))
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
