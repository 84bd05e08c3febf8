//! Lists the disks that an installation formats, so that no old system boots in its place.

use muster_api::inventory::Disk;

use super::unit::main_path;

/// Ids of bootable disks that are fixed, local and not the medium the host was booted from. A unit with several paths is named once.
pub fn to_be_formatted(disks: &[Disk]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for disk in disks {
        // eMMC and SD cards do not report themselves as removable.
        let removable = disk.removable || disk.by_path.contains("mmcblk");
        let shared = matches!(disk.drive_type.as_str(), "FC" | "iSCSI" | "LVM" | "Multipath");
        if !disk.bootable || removable || disk.is_installation_media || shared {
            continue;
        }
        let id = &main_path(disk, disks).unwrap_or(disk).id;
        if !ids.contains(id) {
            ids.push(id.clone());
        }
    }
    ids
}
