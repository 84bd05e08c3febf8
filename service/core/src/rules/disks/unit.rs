//! Treats the entries of an inventory that are paths to one logical unit as one disk. Our agents report each unit once; those of other
//! makes report each path as a disk.

use std::collections::HashMap;

use muster_api::inventory::Disk;
use muster_api::placeholder::is_placeholder;

/// The reason against `disk` because of other entries with its world-wide name.
pub fn reason_of_name(disk: &Disk, disks: &[Disk]) -> Option<String> {
    if let Some(other) = disks
        .iter()
        .find(|other| shares_id_with_another_unit(disk, other))
    {
        return Some(format!(
            "Its id {} may lead to another disk after a boot: {} has the same world-wide name, and another serial number or size",
            disk.id, other.name
        ));
    }
    let main = main_path(disk, disks)?;
    (main.name != disk.name).then(|| format!("This disk is another path to {}; choose that one", main.name))
}

/// The indices of the other entries that are paths to the unit of entry `index`: agents' reasons against one path are
/// reasons against the unit.
pub fn other_paths(index: usize, disks: &[Disk]) -> impl Iterator<Item = usize> {
    let disk = &disks[index];
    let others = disks.iter().enumerate();
    others
        .filter(move |(other, path)| *other != index && is_path_to_same_unit(disk, path))
        .map(|(other, _)| other)
}

/// True if the disk of this id is protected by one of these ids: as itself, or under another name of its unit. A common
/// world-wide name is enough: the id of either disk may lead to the other.
pub fn is_protected(id: &str, protected: &[String], disks: &[Disk]) -> bool {
    let wwn = |id: &str| {
        let disk = disks.iter().find(|disk| disk.id == id)?;
        (!disk.wwn.is_empty()).then_some(disk.wwn.as_str())
    };
    let own = wwn(id);
    protected
        .iter()
        .any(|other| other == id || own.is_some() && own == wwn(other))
}

/// The entry that stands for the unit of `disk`: the first that an id by world-wide name leads to, else the first.
pub fn main_path<'a>(disk: &'a Disk, disks: &'a [Disk]) -> Option<&'a Disk> {
    let mut paths = disks.iter().filter(|path| is_path_to_same_unit(disk, path));
    let first = paths.clone().next();
    paths.find(|path| !path.by_id.is_empty()).or(first)
}

/// The entries that stand for the units of an inventory, found once for all its disks.
pub struct MainPaths<'a> {
    by_unit: HashMap<(&'a str, &'a str, i64), &'a Disk>,
}

/// See [`main_path`].
pub fn main_paths(disks: &[Disk]) -> MainPaths<'_> {
    let mut by_unit: HashMap<_, &Disk> = HashMap::new();
    for disk in disks.iter().filter(|disk| is_path_to_same_unit(disk, disk)) {
        let main = by_unit.entry(unit(disk)).or_insert(disk);
        if main.by_id.is_empty() && !disk.by_id.is_empty() {
            *main = disk;
        }
    }
    MainPaths { by_unit }
}

impl<'a> MainPaths<'a> {
    /// As [`main_path`].
    pub fn of(&self, disk: &Disk) -> Option<&'a Disk> {
        let is_path = is_path_to_same_unit(disk, disk);
        is_path.then(|| self.by_unit.get(&unit(disk)).copied()).flatten()
    }
}

/// What paths to one unit have in common.
fn unit(disk: &Disk) -> (&str, &str, i64) {
    (&disk.wwn, &disk.serial, disk.size_bytes)
}

/// Multipath devices share the name of their paths; `holders` distinguishes them.
fn is_path_to_same_unit(one: &Disk, other: &Disk) -> bool {
    let is_path = |disk: &Disk| disk.drive_type != "Multipath" && disk.holders.is_empty();
    has_name_of(one, other)
        && !is_placeholder(&one.wwn)
        && one.serial == other.serial
        && one.size_bytes == other.size_bytes
        && is_path(one)
        && is_path(other)
}

fn has_name_of(one: &Disk, other: &Disk) -> bool {
    !one.wwn.is_empty() && one.wwn == other.wwn
}

/// True if the id of `disk` is derived from a name that `other`, a different unit, shares.
fn shares_id_with_another_unit(disk: &Disk, other: &Disk) -> bool {
    let is_multipath = disk.drive_type == "Multipath" || other.drive_type == "Multipath";
    let by_name = !disk.by_id.is_empty() && disk.id == disk.by_id;
    let differs = disk.serial != other.serial || disk.size_bytes != other.size_bytes;
    by_name && differs && !is_multipath && has_name_of(disk, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_wide_name_that_names_nothing_makes_no_paths_of_disks() {
        let disk = |name: &str, wwn: &str| Disk {
            name: name.to_owned(),
            wwn: wwn.to_owned(),
            size_bytes: 480 << 30,
            ..Disk::default()
        };
        for (wwn, first) in [("0x5000c500a0b0c0d1", "sda"), ("0x0000000000000000", "sdb")] {
            let disks = [disk("sda", wwn), disk("sdb", wwn)];
            let main = main_path(&disks[1], &disks).map(|path| path.name.as_str());
            assert_eq!(main.unwrap_or("sdb"), first, "{wwn}");
        }
    }

    #[test]
    fn main_paths_that_are_found_at_once_are_those_of_each_disk() {
        let disk = |name: &str, wwn: &str, by_id: &str, holders: &str| Disk {
            name: name.to_owned(),
            wwn: wwn.to_owned(),
            by_id: by_id.to_owned(),
            holders: holders.to_owned(),
            size_bytes: 480 << 30,
            ..Disk::default()
        };
        let mut disks = vec![
            disk("sda", "0x5000c500a0b0c0d1", "", ""),
            disk("sdb", "0x5000c500a0b0c0d1", "/dev/disk/by-id/wwn-1", ""),
            disk("sdc", "0x5000c500a0b0c0d1", "/dev/disk/by-id/wwn-2", ""),
            disk("sdd", "0x5000c500a0b0c0d1", "", "dm-0"),
            disk("sde", "0x0000000000000000", "", ""),
            disk("sdf", "", "", ""),
            disk("sdg", "0x5000c500a0b0c0d2", "", ""),
        ];
        disks.push(Disk {
            size_bytes: 1,
            ..disk("sdh", "0x5000c500a0b0c0d2", "", "")
        });
        disks.push(Disk {
            drive_type: "Multipath".to_owned(),
            ..disk("dm-0", "0x5000c500a0b0c0d1", "", "")
        });
        let found = main_paths(&disks);
        for one in &disks {
            assert_eq!(found.of(one), main_path(one, &disks), "{}", one.name);
        }
        let main = found.of(&disks[0]).map(|main| main.name.as_str());
        assert_eq!(main, Some("sdb"));
    }
}
