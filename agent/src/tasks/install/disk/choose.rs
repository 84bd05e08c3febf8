//! Chooses the disks of an installation: the one that the request names, and no other. Refuses before anything is written.

use std::collections::BTreeSet;

use muster_api::inventory::Disk as Listed;
use tracing::warn;

use super::device::{self, Disk, refuse_disk};
use super::{family, twins, users};
use crate::install::error::InstallError;
use crate::inventory::disks::reservation;
use crate::root::Root;

/// The ids in a request.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    pub boot_device: String,
    pub disks_to_format: Vec<String>,
    /// Disks that must not be touched under any of their names.
    pub skipped: Vec<String>,
}

/// The disks that may be written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub disk: Disk,
    /// Kernel names of other paths to it.
    pub twins: Vec<String>,
    /// Their first sector is to be cleared.
    pub to_format: Vec<Disk>,
}

const SKIPPED: &str = "it is on the list of disks that are not to be formatted, under this or another name";
const SKIPPED_TOO: &str = "is on the list of disks that are not to be formatted";

/// Chooses among the disks that the inventory lists.
///
/// # Errors
/// [`InstallError::NoDisk`], [`InstallError::NoDiskToFormat`], [`InstallError::Untouched`]
pub fn choose(root: &Root, listed: &[Listed], wishes: &Wishes) -> Result<Chosen, InstallError> {
    let disk = Disk::find(root, &wishes.boot_device)?;
    // A multipath device is built upon its paths.
    let below = family::below(root, &disk.name);
    let mut twins = twins::of(listed, &disk.name);
    twins.retain(|name| !below.contains(name));
    let skipped = names_of(root, listed, &wishes.skipped);
    let paths = || std::iter::once(&disk.name).chain(&twins);
    if wishes.skipped.contains(&disk.id) {
        return refuse_disk(&disk, SKIPPED);
    }
    for name in paths() {
        if let Some(reason) = reason_of_skipping(root, &skipped, name) {
            return refuse_disk(&disk, &by_name(name, &disk.name, &reason));
        }
    }
    for name in paths() {
        if let Some(reason) = reason_against(root, listed, name) {
            return refuse_disk(&disk, &by_name(name, &disk.name, &reason));
        }
    }
    let mut to_format: Vec<Disk> = Vec::new();
    for id in &wishes.disks_to_format {
        let other = match device::resolve(root, id).and_then(|name| Disk::named(root, id, &name)) {
            Ok(other) => other,
            Err(error) => {
                return Err(InstallError::NoDiskToFormat {
                    device: id.clone(),
                    reason: error.to_string(),
                });
            }
        };
        if paths().any(|name| *name == other.name) || to_format.iter().any(|known| known.name == other.name) {
            continue;
        }
        let all = [vec![other.name.clone()], twins::of(listed, &other.name)].concat();
        let against = all.iter().find_map(|name| {
            reason_of_skipping(root, &skipped, name).or_else(|| reason_against(root, listed, name))
        });
        match against {
            Some(reason) => warn!(disk = id, "not formatted: {reason}"),
            None => to_format.push(other),
        }
    }
    Ok(Chosen {
        disk,
        twins,
        to_format,
    })
}

/// The reason not to write to a disk if `skipped` must not be written to; none if it may be written. Writing reaches the devices that
/// the disk is built upon, and destroys those built upon it.
fn reason_of_skipping(root: &Root, skipped: &BTreeSet<String>, name: &str) -> Option<String> {
    if skipped.contains(name) {
        return Some(SKIPPED.to_owned());
    }
    if let Some(lower) = family::below(root, name).intersection(skipped).next() {
        return Some(format!("it is built upon {lower}, and that {SKIPPED_TOO}"));
    }
    let members = family::of(root, name);
    let upper = members.iter().find(|member| skipped.contains(&member.name))?;
    Some(format!("{} is built upon it, and that {SKIPPED_TOO}", upper.name))
}

fn by_name(name: &str, chosen: &str, reason: &str) -> String {
    if name == chosen {
        reason.to_owned()
    } else {
        format!("/dev/{name} is the same disk, and {reason}")
    }
}

/// Kernel names of these ids and of other paths to them. An id that is not there protects nothing.
fn names_of(root: &Root, listed: &[Listed], ids: &[String]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for id in ids {
        let by_inventory = listed
            .iter()
            .find(|disk| disk.id == *id || disk.by_id == *id || disk.by_path == *id || disk.path == *id)
            .map(|disk| disk.name.clone());
        for name in device::resolve(root, id).ok().into_iter().chain(by_inventory) {
            names.extend(twins::of(listed, &name));
            names.insert(name);
        }
    }
    names
}

/// The reason not to write to a disk; none if it may be written.
pub(crate) fn reason_against(root: &Root, listed: &[Listed], name: &str) -> Option<String> {
    let is_one = |file: &str| {
        root.text(&format!("/sys/class/block/{name}/{file}"))
            .is_ok_and(|text| text == "1")
    };
    if name.starts_with("sr") {
        return Some("it is an optical drive".to_owned());
    }
    if is_one("ro") {
        return Some("it is read-only".to_owned());
    }
    if is_one("hidden") {
        return Some("it is a path of another disk".to_owned());
    }
    if let Ok(uuid) = root.text(&format!("/sys/class/block/{name}/dm/uuid"))
        && !uuid.starts_with("mpath-")
    {
        return Some("it is built upon other disks by device-mapper".to_owned());
    }
    if let Some(reason) = users::in_use(root, &family::of(root, name)) {
        return Some(reason);
    }
    medium_or_reserved(root, listed, name).or_else(|| {
        family::below(root, name).iter().find_map(|lower| {
            let reason = medium_or_reserved(root, listed, lower)?;
            Some(format!("it is built upon {lower}, and of that: {reason}"))
        })
    })
}

fn medium_or_reserved(root: &Root, listed: &[Listed], name: &str) -> Option<String> {
    let is_medium = listed
        .iter()
        .any(|disk| disk.name == name && disk.is_installation_media);
    if is_medium {
        return Some("it holds the medium that this system was booted from".to_owned());
    }
    match reservation::held(root, name) {
        Ok(None) => None,
        Ok(Some(held)) => Some(format!(
            "{held}. Release it on the machine that holds it, or with `sg_persist --clear`, if no other machine uses the disk"
        )),
        Err(reason) => {
            warn!(disk = name, "reservations are not known: {reason}");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Machine;

    fn listed(name: &str, wwn: &str) -> Listed {
        Listed {
            name: name.into(),
            wwn: wwn.into(),
            id: format!("/dev/disk/by-id/wwn-{wwn}"),
            ..Listed::default()
        }
    }

    fn machine() -> Machine {
        let machine = family::tests::machine()
            .file("proc/self/mountinfo", "22 1 0:20 / /run rw - tmpfs tmpfs rw\n")
            .file("dev/sda", "")
            .file("dev/sda1", "")
            .file("dev/sdb", "")
            .file("dev/sdaa", "")
            .link("dev/disk/by-id/wwn-0xa", "/dev/sda")
            .link("dev/disk/by-id/wwn-0xb", "/dev/sdb");
        ["sda", "sdb", "sdaa"].iter().fold(machine, |machine, name| {
            machine.answer(&format!("disk.{name}.reservation"), Value::Null)
        })
    }

    fn wishes(boot: &str) -> Wishes {
        Wishes {
            boot_device: boot.into(),
            ..Wishes::default()
        }
    }

    fn refusal(machine: &Machine, listed: &[Listed], wishes: &Wishes) -> String {
        match choose(&machine.root(), listed, wishes) {
            Err(
                error @ (InstallError::NoDisk { .. }
                | InstallError::NoDiskToFormat { .. }
                | InstallError::Untouched { .. }),
            ) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_disk_of_the_id_is_chosen_and_the_others_to_format_are_checked() {
        let disks = [listed("sda", "0xa"), listed("sdb", "0xb"), listed("sdaa", "0xaa")];
        let mut wishes = wishes("/dev/disk/by-id/wwn-0xa");
        wishes.disks_to_format = vec![
            "/dev/disk/by-id/wwn-0xa".into(),
            "/dev/disk/by-id/wwn-0xb".into(),
            "/dev/sdaa".into(),
        ];
        wishes.skipped = vec!["/dev/sdaa".into()];
        let chosen = choose(&machine().root(), &disks, &wishes).unwrap();
        assert_eq!((chosen.disk.name.as_str(), chosen.disk.size), ("sda", 1 << 30));
        assert!(chosen.twins.is_empty());
        let names: Vec<&str> = chosen.to_format.iter().map(|disk| disk.name.as_str()).collect();
        assert_eq!(names, ["sdb"]);
    }

    #[test]
    fn ids_that_name_no_disk_are_refused() {
        let machine = machine();
        for (id, word) in [
            ("/dev/disk/by-id/wwn-0xgone", "not there"),
            ("/dev/sda1", "a partition"),
            ("sda", "an id under /dev/"),
            ("/dev/../etc/passwd", "an id under /dev/"),
            ("/dev/dm-0", "not there"),
        ] {
            let reason = refusal(&machine, &[], &wishes(id));
            assert!(
                reason.contains(word) && reason.contains("No disk was written to"),
                "{reason}"
            );
        }
        let mut wishes = wishes("/dev/sda");
        wishes.disks_to_format = vec!["/dev/sdz".into()];
        assert!(refusal(&machine, &[], &wishes).contains("/dev/sdz"));
    }

    #[test]
    fn a_disk_on_the_skip_list_is_refused_under_each_of_its_names() {
        let twin = [listed("sda", "0xa"), listed("sdb", "0xa")];
        for skipped in [
            "/dev/sda",
            "/dev/disk/by-id/wwn-0xa",
            "/dev/disk/by-id/wwn-0xb",
            "/dev/sdb",
        ] {
            let mut wishes = wishes("/dev/sda");
            wishes.skipped = vec![skipped.into()];
            let reason = refusal(&machine(), &twin, &wishes);
            assert!(reason.contains("not to be formatted"), "{skipped}: {reason}");
        }
        let mut wishes = wishes("/dev/sda");
        wishes.skipped = vec!["/dev/sdaa".into()];
        assert!(choose(&machine().root(), &[], &wishes).is_ok());
    }

    /// `md127` lies over a partition of `sda` and one of `sdaa`.
    #[test]
    fn a_device_is_refused_when_what_it_is_built_upon_or_carries_is_to_be_left_alone() {
        let machine = || {
            machine()
                .file("dev/md127", "")
                .file("proc/self/mountinfo", "22 1 0:20 / /run rw - tmpfs tmpfs rw\n")
        };
        assert!(choose(&machine().root(), &[], &wishes("/dev/md127")).is_ok());
        for (chosen, skipped, word) in [
            ("/dev/md127", "/dev/sdaa", "built upon sdaa"),
            ("/dev/sda", "/dev/md127", "md127 is built upon it"),
        ] {
            let mut wishes = wishes(chosen);
            wishes.skipped = vec![skipped.into()];
            let reason = refusal(&machine(), &[], &wishes);
            assert!(
                reason.contains(word) && reason.contains("not to be formatted"),
                "{reason}"
            );
            let mut wishes = self::wishes("/dev/sdb");
            wishes.disks_to_format = vec![chosen.into()];
            wishes.skipped = vec![skipped.into()];
            assert!(
                choose(&machine().root(), &[], &wishes)
                    .unwrap()
                    .to_format
                    .is_empty()
            );
        }
        let held = machine().answer(
            "disk.sdaa.reservation",
            json!("a SCSI persistent reservation is held on it"),
        );
        let reason = refusal(&held, &[], &wishes("/dev/md127"));
        assert!(
            reason.contains("built upon sdaa") && reason.contains("sg_persist"),
            "{reason}"
        );
    }

    /// The paths of a multipath device are other names of it, also in the inventory, and no reason to refuse it.
    #[test]
    fn a_multipath_device_is_chosen_and_its_paths_are_not() {
        let machine = || {
            let mut machine = machine().file("dev/dm-2", "");
            for (file, text) in [
                ("dev", "253:2"),
                ("uevent", ""),
                ("size", "2097152"),
                ("dm/name", "mpatha"),
                ("dm/uuid", "mpath-3600a"),
                ("slaves/sdc", ""),
                ("slaves/sdd", ""),
            ] {
                machine = machine.file(&format!("sys/devices/block/dm-2/{file}"), text);
            }
            for (name, number) in [("sdc", "8:32"), ("sdd", "8:48")] {
                machine = machine
                    .file(&format!("dev/{name}"), "")
                    .file(&format!("sys/devices/block/{name}/dev"), number)
                    .file(&format!("sys/devices/block/{name}/size"), "2097152")
                    .file(&format!("sys/devices/block/{name}/holders/dm-2"), "")
                    .link(
                        &format!("sys/class/block/{name}"),
                        &format!("/sys/devices/block/{name}"),
                    )
                    .answer(&format!("disk.{name}.reservation"), Value::Null);
            }
            machine.link("sys/class/block/dm-2", "/sys/devices/block/dm-2")
        };
        let disks = ["dm-2", "sdc", "sdd"].map(|name| listed(name, "0xcc"));
        let chosen = choose(&machine().root(), &disks, &wishes("/dev/dm-2")).unwrap();
        assert_eq!((chosen.disk.name.as_str(), chosen.twins.len()), ("dm-2", 0));
        let reason = refusal(&machine(), &disks, &wishes("/dev/sdc"));
        assert!(reason.contains("multipath device mpatha"), "{reason}");
        let mut skipping = wishes("/dev/dm-2");
        skipping.skipped = vec!["/dev/sdd".into()];
        // The inventory may not know that they are one disk.
        for disks in [&disks[..], &[]] {
            let reason = refusal(&machine(), disks, &skipping);
            assert!(reason.contains("not to be formatted"), "{reason}");
        }
    }

    #[test]
    fn a_medium_and_a_used_or_reserved_disk_are_refused_by_every_path() {
        let medium = [Listed {
            is_installation_media: true,
            ..listed("sda", "0xa")
        }];
        assert!(refusal(&machine(), &medium, &wishes("/dev/sda")).contains("medium"));
        let twin = [listed("sda", "0xa"), listed("sdb", "0xa")];
        let mounted = machine().file("proc/self/mountinfo", "36 1 8:16 / /data rw - ext4 /dev/sdb rw\n");
        let reason = refusal(&mounted, &twin, &wishes("/dev/sda"));
        assert!(
            reason.contains("/dev/sdb is the same disk, and it is mounted at /data"),
            "{reason}"
        );
        let held = machine().answer(
            "disk.sda.reservation",
            json!("a SCSI persistent reservation is held on it"),
        );
        assert!(refusal(&held, &[], &wishes("/dev/sda")).contains("sg_persist"));
        let locked = machine().file("sys/devices/block/sda/ro", "1\n");
        assert!(refusal(&locked, &[], &wishes("/dev/sda")).contains("read-only"));
    }
}
