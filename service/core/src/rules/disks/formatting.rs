//! Lists the disks that an installation formats, so that no old system boots in its place.

use muster_api::inventory::Disk;

/// Ids of bootable disks that are fixed, local and not the medium the host was booted from.
pub fn to_be_formatted(disks: &[Disk]) -> Vec<String> {
    disks
        .iter()
        .filter(|disk| {
            // eMMC and SD cards do not call themselves removable.
            let removable = disk.removable || disk.by_path.contains("mmcblk");
            let shared = matches!(disk.drive_type.as_str(), "FC" | "iSCSI" | "LVM" | "Multipath");
            disk.bootable && !removable && !disk.is_installation_media && !shared
        })
        .map(|disk| disk.id.clone())
        .collect()
}
