//! Finds the other names of a disk: one logical unit that is seen by several paths is one disk.

use muster_api::inventory::Disk;

use crate::inventory::disks::units;

/// Kernel names of other paths to the disk of this kernel name.
pub fn of(disks: &[Disk], name: &str) -> Vec<String> {
    let Some(disk) = disks.iter().find(|disk| disk.name == name) else {
        return Vec::new();
    };
    disks
        .iter()
        .filter(|other| other.name != name && units::same(disk, other))
        .map(|other| other.name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(name: &str, wwn: &str, serial: &str) -> Disk {
        Disk {
            name: name.into(),
            wwn: wwn.into(),
            serial: serial.into(),
            size_bytes: 1 << 40,
            ..Disk::default()
        }
    }

    #[test]
    fn paths_to_one_unit_are_one_disk_and_disks_without_names_are_not() {
        let disks = [
            disk("sda", "0x600a", "A"),
            disk("sdb", "0x600a", "A"),
            disk("sdc", "0x600a", "B"),
            disk("vda", "", ""),
            disk("vdb", "", ""),
        ];
        assert_eq!(of(&disks, "sda"), ["sdb"]);
        assert_eq!(of(&disks, "sdb"), ["sda"]);
        assert!(of(&disks, "sdc").is_empty());
        assert!(of(&disks, "vda").is_empty());
        assert!(of(&disks, "loop0").is_empty());
    }
}
