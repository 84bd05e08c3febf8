//! Finds the disk of a request: the one that all given identifiers fit, and that nothing uses.

use muster_api::inventory::Disk as Listed;
use muster_api::steps::DiskToErase;

use crate::install::disk::choose::reason_against;
use crate::install::disk::device::{self, Disk};
use crate::install::disk::{family, twins};
use crate::inventory::disks::units;
use crate::root::Root;

/// A disk that may be erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub disk: Disk,
    /// Kernel names of other paths to it.
    pub twins: Vec<String>,
}

/// Finds the disk among those that the inventory lists.
///
/// # Errors
/// The reason why there is none, why there is more than one, or why it must not be written to.
pub fn find(root: &Root, listed: &[Listed], wanted: &DiskToErase) -> Result<Found, String> {
    let name = named(root, listed, wanted)?;
    let below = family::below(root, &name);
    let mut twins = twins::of(listed, &name);
    twins.retain(|twin| !below.contains(twin));
    for path in std::iter::once(&name).chain(&twins) {
        if let Some(reason) = reason_against(root, listed, path) {
            return Err(format!("/dev/{path} was not touched: {reason}"));
        }
    }
    let disk = Disk::named(root, &wanted.id, &name)
        .map_err(|error| format!("/dev/{name} was not touched: {error}"))?;
    Ok(Found { disk, twins })
}

/// The kernel's name of the disk.
fn named(root: &Root, listed: &[Listed], wanted: &DiskToErase) -> Result<String, String> {
    let id = wanted.id.as_str();
    if id.is_empty() {
        return Err("the request names a disk without an id".to_owned());
    }
    let resolved = device::resolve(root, id);
    let leads_to = |disk: &&Listed| match &resolved {
        Ok(name) => disk.name == *name,
        // A link that this system does not make.
        Err(_) => [&disk.id, &disk.by_id, &disk.by_path].contains(&&wanted.id),
    };
    let mut by_id = listed.iter().filter(leads_to);
    let Some(disk) = by_id.next() else {
        return Err(match &resolved {
            Ok(name) => format!("{id} is /dev/{name}, which is no disk of this machine's inventory"),
            Err(error) => format!("no disk of this machine has the id {id}: {error}"),
        });
    };
    if let Some(other) = by_id.find(|other| !units::same(disk, other)) {
        return Err(format!(
            "{id} names both /dev/{} and /dev/{}",
            disk.name, other.name
        ));
    }
    if let Some(difference) = difference(disk, wanted) {
        return Err(format!(
            "{id} is /dev/{}, and another disk than the one that was written to: {difference}",
            disk.name
        ));
    }
    // Such a name is given by the order in which the kernel finds disks.
    let lasting = !wanted.serial.is_empty() || !wanted.wwn.is_empty() || id.starts_with("/dev/disk/");
    if !lasting {
        let alike = listed
            .iter()
            .filter(|other| wanted.size_bytes <= 0 || other.size_bytes == wanted.size_bytes);
        if alike.count() > 1 {
            return Err(format!(
                "{id} is a name that may go to another disk with each start, the disk has neither serial number nor world-wide name, and \
                 another one has the same size"
            ));
        }
    }
    Ok(disk.name.clone())
}

/// The first identifier that was given and does not fit.
fn difference(disk: &Listed, wanted: &DiskToErase) -> Option<String> {
    let texts = [
        ("serial number", &disk.serial, &wanted.serial),
        ("world-wide name", &disk.wwn, &wanted.wwn),
    ];
    for (what, is, was) in texts {
        if !was.is_empty() && is != was {
            return Some(format!("its {what} is `{is}`, and was `{was}`"));
        }
    }
    let (is, was) = (disk.size_bytes, wanted.size_bytes);
    (was > 0 && is != was).then(|| format!("it has {is} bytes, and had {was}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Machine;

    const SIZE: i64 = 1 << 30;

    fn listed(name: &str) -> Listed {
        Listed {
            name: name.into(),
            path: format!("/dev/{name}"),
            id: format!("/dev/disk/by-id/wwn-0x{name}"),
            by_id: format!("/dev/disk/by-id/wwn-0x{name}"),
            serial: format!("S-{name}"),
            wwn: format!("0x{name}"),
            size_bytes: SIZE,
            ..Listed::default()
        }
    }

    fn machine() -> Machine {
        let machine =
            family::tests::machine().file("proc/self/mountinfo", "22 1 0:20 / /run rw - tmpfs tmpfs rw\n");
        ["sda", "sdb", "sdaa"].iter().fold(machine, |machine, name| {
            machine
                .file(&format!("dev/{name}"), "")
                .link(&format!("dev/disk/by-id/wwn-0x{name}"), &format!("/dev/{name}"))
                .answer(&format!("disk.{name}.reservation"), Value::Null)
        })
    }

    fn wanted(name: &str) -> DiskToErase {
        let disk = listed(name);
        DiskToErase {
            id: disk.id,
            serial: disk.serial,
            wwn: disk.wwn,
            size_bytes: SIZE,
        }
    }

    fn refusal(machine: &Machine, listed: &[Listed], wanted: &DiskToErase) -> String {
        find(&machine.root(), listed, wanted).unwrap_err()
    }

    type Change = fn(&mut DiskToErase);

    #[test]
    fn the_disk_is_the_one_that_everything_fits() {
        let disks = [listed("sda"), listed("sdb"), listed("sdaa")];
        let found = find(&machine().root(), &disks, &wanted("sdb")).unwrap();
        assert_eq!((found.disk.name.as_str(), found.disk.size), ("sdb", 1 << 30));
        assert!(found.twins.is_empty());
        let few = DiskToErase {
            id: "/dev/disk/by-id/wwn-0xsdb".into(),
            ..DiskToErase::default()
        };
        assert!(find(&machine().root(), &disks, &few).is_ok());
    }

    #[test]
    fn one_identifier_that_differs_is_another_disk() {
        let disks = [listed("sda"), listed("sdb")];
        let changes: [(Change, &str); 5] = [
            (
                |disk| disk.serial = "S-other".into(),
                "its serial number is `S-sdb`",
            ),
            (|disk| disk.wwn = "0xother".into(), "its world-wide name"),
            (|disk| disk.size_bytes += 512, "it has 1073741824 bytes"),
            (
                |disk| disk.id = "/dev/disk/by-id/gone".into(),
                "no disk of this machine has the id",
            ),
            (|disk| disk.id.clear(), "without an id"),
        ];
        for (change, word) in changes {
            let mut wanted = wanted("sdb");
            change(&mut wanted);
            let reason = refusal(&machine(), &disks, &wanted);
            assert!(reason.contains(word), "{reason}");
        }
        // The link leads to another disk now.
        let mut moved = wanted("sdb");
        moved.id = "/dev/disk/by-id/wwn-0xsda".into();
        assert!(refusal(&machine(), &disks, &moved).contains("another disk than"));
    }

    #[test]
    fn two_paths_to_one_disk_are_one_and_two_disks_of_one_name_are_none() {
        let twin = |name: &str| Listed {
            name: name.into(),
            ..listed("sda")
        };
        let found = find(&machine().root(), &[twin("sda"), twin("sdb")], &wanted("sda")).unwrap();
        assert_eq!(
            (found.disk.name.as_str(), found.twins),
            ("sda", vec!["sdb".to_owned()])
        );
        let unnamed = |name: &str| Listed {
            id: "/dev/disk/by-path/x".into(),
            wwn: String::new(),
            ..twin(name)
        };
        let wanted = DiskToErase {
            id: "/dev/disk/by-path/x".into(),
            ..DiskToErase::default()
        };
        let reason = refusal(&machine(), &[unnamed("sda"), unnamed("sdb")], &wanted);
        assert!(reason.contains("names both"), "{reason}");
    }

    #[test]
    fn a_kernels_name_is_enough_only_for_the_one_disk_of_its_size() {
        let bare = |name: &str, size_bytes: i64| Listed {
            id: format!("/dev/{name}"),
            by_id: String::new(),
            serial: String::new(),
            wwn: String::new(),
            size_bytes,
            ..listed(name)
        };
        let wanted = DiskToErase {
            id: "/dev/sda".into(),
            size_bytes: SIZE,
            ..DiskToErase::default()
        };
        let alike = [bare("sda", SIZE), bare("sdb", SIZE)];
        let reason = refusal(&machine(), &alike, &wanted);
        assert!(reason.contains("another one has the same size"), "{reason}");
        let different = [bare("sda", SIZE), bare("sdb", SIZE / 2)];
        assert!(find(&machine().root(), &different, &wanted).is_ok());
    }

    #[test]
    fn what_is_in_use_or_the_medium_or_read_only_or_reserved_is_not_touched() {
        let disks = [listed("sda"), listed("sdb")];
        let mounted = machine().file(
            "proc/self/mountinfo",
            "36 1 253:0 / / rw - xfs /dev/mapper/vg-root rw",
        );
        let reason = refusal(&mounted, &disks, &wanted("sdb"));
        assert!(
            reason.contains("was not touched") && reason.contains("mounted at /"),
            "{reason}"
        );
        let read_only = machine().file("sys/devices/block/sdb/ro", "1");
        assert!(refusal(&read_only, &disks, &wanted("sdb")).contains("read-only"));
        let reserved = machine().answer("disk.sdb.reservation", json!("a reservation is held on it"));
        assert!(refusal(&reserved, &disks, &wanted("sdb")).contains("sg_persist"));
        let mut medium = disks.clone();
        medium[1].is_installation_media = true;
        assert!(refusal(&machine(), &medium, &wanted("sdb")).contains("booted from"));
    }
}
