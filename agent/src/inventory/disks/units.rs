//! Makes one disk of the paths to one logical unit: a LUN behind two ports, a SAS disk with two.

use muster_api::inventory::Disk;

/// True for two paths to one unit. A world-wide name alone is not enough: cheap disks share theirs.
pub(crate) fn same(one: &Disk, other: &Disk) -> bool {
    !one.wwn.is_empty()
        && one.wwn == other.wwn
        && one.serial == other.serial
        && one.size_bytes == other.size_bytes
}

/// Disks and paths in order of name, each unit once. Paths that device-mapper has put together stay, as its holder shows them.
pub(in crate::inventory) fn merged(disks: Vec<Disk>) -> Vec<Disk> {
    let mut units: Vec<Vec<Disk>> = Vec::new();
    for disk in disks {
        let is_of = |unit: &&mut Vec<Disk>| unit.iter().any(|path| is_path(path) && same(path, &disk));
        match units.iter_mut().find(is_of).filter(|_| is_path(&disk)) {
            Some(unit) => unit.push(disk),
            None => units.push(vec![disk]),
        }
    }
    units.into_iter().filter_map(one).collect()
}

/// False for a disk that is built upon others, or that others are built upon.
fn is_path(disk: &Disk) -> bool {
    disk.holders.is_empty() && !["dm-", "md"].iter().any(|prefix| disk.name.starts_with(prefix))
}

/// The path that the id of the unit leads to, else the first, with the facts known by any of them.
fn one(mut paths: Vec<Disk>) -> Option<Disk> {
    let names: Vec<String> = paths.iter().map(|path| path.path.clone()).collect();
    let main = paths.iter().position(|path| !path.by_id.is_empty()).unwrap_or(0);
    if paths.len() == 1 {
        return paths.pop();
    }
    let mut disk = paths.remove(main);
    for path in paths {
        disk.bootable |= path.bootable;
        disk.is_installation_media |= path.is_installation_media;
        for reason in path.installation_eligibility.not_eligible_reasons {
            let reasons = &mut disk.installation_eligibility.not_eligible_reasons;
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        disk.installation_eligibility.eligible &= path.installation_eligibility.eligible;
    }
    disk.paths = names;
    Some(disk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Problems;
    use crate::inventory::disks::disks;
    use crate::testing::Machine;

    fn inventory(machine: &Machine) -> Vec<Disk> {
        merged(disks(&machine.root(), &[], &mut Problems::default()))
    }

    /// A SCSI disk as a path; the kernel's copies of the pages are the unit's.
    fn path(machine: Machine, name: &str, unit: &str, sectors: &str) -> Machine {
        let number = name.as_bytes()[2] - b'a';
        let place = format!("pci0/host{number}/target{number}:0:0/{number}:0:0:0");
        let udev = format!(
            "E:ID_WWN_WITH_EXTENSION=0x{unit}\nE:ID_SERIAL_SHORT=S\nE:ID_PATH=pci-0-scsi-{number}:0:0:0\n"
        );
        machine
            .disk(
                &format!("{place}/block/{name}"),
                &[("size", sectors), ("dev", &format!("8:{}", number * 16))],
            )
            .file(&format!("/run/udev/data/b8:{}", number * 16), udev)
            .link(
                &format!("/dev/disk/by-path/pci-0-scsi-{number}:0:0:0"),
                &format!("../../{name}"),
            )
    }

    #[test]
    fn a_unit_by_two_paths_is_one_disk_by_the_id_that_leads_to_it() {
        let machine = path(Machine::new(), "sda", "600a", "8192");
        let machine = path(machine, "sdb", "600a", "8192");
        let machine = path(machine, "sdc", "600b", "8192")
            .link("/dev/disk/by-id/wwn-0x600a", "../../sdb")
            .link("/dev/disk/by-id/wwn-0x600b", "../../sdc");
        let found = inventory(&machine);
        let shown: Vec<(&str, &str, usize)> = found
            .iter()
            .map(|disk| (disk.name.as_str(), disk.id.as_str(), disk.paths.len()))
            .collect();
        let expected = [
            ("sdb", "/dev/disk/by-id/wwn-0x600a", 2),
            ("sdc", "/dev/disk/by-id/wwn-0x600b", 0),
        ];
        assert_eq!(shown, expected);
        assert_eq!(found[0].paths, ["/dev/sda", "/dev/sdb"]);
    }

    #[test]
    fn disks_that_only_share_a_name_stay_two() {
        let machine = path(Machine::new(), "sda", "600a", "8192");
        let found = inventory(&path(machine, "sdb", "600a", "4096"));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn paths_that_are_put_together_are_told_by_their_holder() {
        let machine = path(Machine::new(), "sda", "600a", "8192");
        let holder = |number: u32, name: &str| {
            format!(
                "/sys/devices/pci0/host{number}/target{number}:0:0/{number}:0:0:0/block/{name}/holders/dm-0/x"
            )
        };
        let machine = path(machine, "sdb", "600a", "8192")
            .file(&holder(0, "sda"), "")
            .file(&holder(1, "sdb"), "")
            .disk(
                "virtual/block/dm-0",
                &[("size", "8192"), ("dm/uuid", "mpath-3600a")],
            );
        let names: Vec<String> = inventory(&machine).into_iter().map(|disk| disk.name).collect();
        assert_eq!(names, ["dm-0", "sda", "sdb"]);
    }

    #[test]
    fn what_speaks_against_one_path_speaks_against_the_disk() {
        let path = |name: &str, reasons: &[&str]| {
            let mut disk = Disk {
                name: name.into(),
                path: format!("/dev/{name}"),
                wwn: "0x600a".into(),
                bootable: !reasons.is_empty(),
                ..Disk::default()
            };
            disk.installation_eligibility.eligible = reasons.is_empty();
            disk.installation_eligibility.not_eligible_reasons =
                reasons.iter().map(|reason| (*reason).to_owned()).collect();
            disk
        };
        let found = merged(vec![
            path("sda", &[]),
            path("sdb", &["mounted"]),
            path("sdc", &["mounted"]),
        ]);
        assert_eq!(found.len(), 1);
        assert!(found[0].bootable && !found[0].installation_eligibility.eligible);
        assert_eq!(
            found[0].installation_eligibility.not_eligible_reasons,
            ["mounted"]
        );
    }
}
