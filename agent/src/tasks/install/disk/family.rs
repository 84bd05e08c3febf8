//! Lists the block devices that are built upon a disk, from the kernel's own `holders` and `slaves`: exact names, never
//! parts of names.

use std::collections::BTreeSet;

use crate::root::Root;

/// A device on the disk: the disk itself, a partition, or something built upon those.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Kernel name.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Disk,
    Partition,
    /// Device-mapper: a logical volume, an encrypted device, a path group, ...
    Mapper {
        name: String,
        /// `LVM-...`, `CRYPT-...`, `mpath-...`
        uuid: String,
    },
    /// A software RAID.
    Array,
    Other,
}

/// The disk with everything that is built upon it; each device comes before the ones that it is built upon.
pub fn of(root: &Root, disk: &str) -> Vec<Member> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    visit(root, disk, Some(Kind::Disk), &mut found, &mut seen);
    found
}

fn visit(root: &Root, name: &str, kind: Option<Kind>, found: &mut Vec<Member>, seen: &mut BTreeSet<String>) {
    if !seen.insert(name.to_owned()) {
        return;
    }
    for holder in holders(root, name) {
        visit(root, &holder, None, found, seen);
    }
    for partition in partitions(root, name) {
        visit(root, &partition, Some(Kind::Partition), found, seen);
    }
    found.push(Member {
        name: name.to_owned(),
        number: text(root, name, "dev").unwrap_or_default(),
        kind: kind.unwrap_or_else(|| kind_of(root, name)),
    });
}

fn kind_of(root: &Root, name: &str) -> Kind {
    if let Some(mapped) = text(root, name, "dm/name") {
        return Kind::Mapper {
            name: mapped,
            uuid: text(root, name, "dm/uuid").unwrap_or_default(),
        };
    }
    if root.is_dir(&format!("/sys/class/block/{name}/md")) {
        return Kind::Array;
    }
    Kind::Other
}

/// The devices that are built upon this one directly.
pub fn holders(root: &Root, name: &str) -> Vec<String> {
    root.list(&format!("/sys/class/block/{name}/holders"))
        .unwrap_or_default()
}

/// The devices that this one is built upon directly.
pub fn slaves(root: &Root, name: &str) -> Vec<String> {
    root.list(&format!("/sys/class/block/{name}/slaves"))
        .unwrap_or_default()
}

/// The devices that this one is built upon, at any depth; in place of a partition, its disk.
pub fn below(root: &Root, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut next = slaves(root, name);
    while let Some(lower) = next.pop() {
        let lower = disk_of_partition(root, &lower).unwrap_or(lower);
        if found.insert(lower.clone()) {
            next.extend(slaves(root, &lower));
        }
    }
    found
}

fn disk_of_partition(root: &Root, name: &str) -> Option<String> {
    let folder = format!("/sys/class/block/{name}");
    if !root.exists(&format!("{folder}/partition")) {
        return None;
    }
    let place = root.resolve(&folder).ok()?;
    Some(place.rsplit('/').nth(1)?.to_owned())
}

/// The partitions of a device, in order of name.
pub fn partitions(root: &Root, name: &str) -> Vec<String> {
    let folder = format!("/sys/class/block/{name}");
    let entries = root.list(&folder).unwrap_or_default();
    entries
        .into_iter()
        .filter(|entry| root.exists(&format!("{folder}/{entry}/partition")))
        .collect()
}

fn text(root: &Root, name: &str, file: &str) -> Option<String> {
    root.text(&format!("/sys/class/block/{name}/{file}")).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::Machine;

    /// `sda` with an LVM volume over `sda2` and `sdb`, a RAID over `sda3` and `sdaa1`; `sdaa` has its own volume.
    pub(crate) fn machine() -> Machine {
        let mut machine = Machine::new();
        for (name, number, folder) in [
            ("sda", "8:0", "sda"),
            ("sda1", "8:1", "sda/sda1"),
            ("sda2", "8:2", "sda/sda2"),
            ("sda3", "8:3", "sda/sda3"),
            ("sdb", "8:16", "sdb"),
            ("sdaa", "65:160", "sdaa"),
            ("sdaa1", "65:161", "sdaa/sdaa1"),
            ("dm-0", "253:0", "dm-0"),
            ("dm-1", "253:1", "dm-1"),
            ("md127", "9:127", "md127"),
        ] {
            let place = format!("sys/devices/block/{folder}");
            machine = machine.file(&format!("{place}/dev"), number);
            machine = machine.file(&format!("{place}/uevent"), "");
            machine = machine.file(&format!("{place}/size"), "2097152\n");
            if folder.contains('/') {
                machine = machine.file(&format!("{place}/partition"), &number[number.len() - 1..]);
            }
            machine = machine.link(&format!("sys/class/block/{name}"), &format!("/{place}"));
            if !folder.contains('/') {
                machine = machine.link(&format!("sys/block/{name}"), &format!("/{place}"));
            }
        }
        machine = machine.file("sys/devices/block/dm-0/dm/name", "vg-root");
        machine = machine.file("sys/devices/block/dm-0/dm/uuid", "LVM-abc");
        machine = machine.file("sys/devices/block/dm-1/dm/name", "other-data");
        machine = machine.file("sys/devices/block/dm-1/dm/uuid", "LVM-def");
        machine = machine.file("sys/devices/block/md127/md/array_state", "clean");
        for (lower, upper) in [
            ("sda/sda2", "dm-0"),
            ("sdb", "dm-0"),
            ("sda/sda3", "md127"),
            ("sdaa/sdaa1", "md127"),
            ("sdaa", "dm-1"),
        ] {
            machine = machine.file(&format!("sys/devices/block/{lower}/holders/{upper}"), "");
            let lower = lower.rsplit('/').next().unwrap();
            machine = machine.file(&format!("sys/devices/block/{upper}/slaves/{lower}"), "");
        }
        machine
    }

    #[test]
    fn what_lies_above_comes_first_and_the_neighbour_with_a_longer_name_is_not_there() {
        let machine = machine();
        let names = |disk| -> Vec<String> {
            of(&machine.root(), disk)
                .into_iter()
                .map(|member| member.name)
                .collect()
        };
        assert_eq!(names("sda"), ["sda1", "dm-0", "sda2", "md127", "sda3", "sda"]);
        assert_eq!(names("sdaa"), ["dm-1", "md127", "sdaa1", "sdaa"]);
        assert_eq!(names("sdb"), ["dm-0", "sdb"]);
    }

    #[test]
    fn a_device_is_built_upon_disks_however_deep() {
        let machine = machine();
        let names = |name| below(&machine.root(), name).into_iter().collect::<Vec<_>>();
        assert_eq!(names("md127"), ["sda", "sdaa"]);
        assert_eq!(names("dm-1"), ["sdaa"]);
        assert!(names("sda").is_empty());
    }

    #[test]
    fn kinds_are_told_apart() {
        let machine = machine();
        let members = of(&machine.root(), "sda");
        assert_eq!(members[0].kind, Kind::Partition);
        assert_eq!(
            members[1].kind,
            Kind::Mapper {
                name: "vg-root".into(),
                uuid: "LVM-abc".into()
            }
        );
        assert_eq!(members[3].kind, Kind::Array);
        assert_eq!(members[5].kind, Kind::Disk);
    }
}
