//! Finds the disk of a path, and checks that nothing uses it.

use super::SpeedError;
use crate::install::disk::device::{self, Disk};
use crate::install::disk::family::{self, Kind, Member};
use crate::install::disk::users;
use crate::root::Root;

/// Resolves `path` to its disk.
pub(super) fn find(root: &Root, path: &str) -> Result<Disk, SpeedError> {
    let found = device::resolve(root, path).and_then(|name| Disk::named(root, path, &name));
    found.map_err(|error| SpeedError::NoDisk {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

/// The reason not to write to the disk; `None` without one.
pub(super) fn in_use(root: &Root, disk: &Disk) -> Option<String> {
    let folder = format!("/sys/class/block/{}", disk.name);
    let is_one = |file: &str| {
        root.text(&format!("{folder}/{file}"))
            .is_ok_and(|text| text == "1")
    };
    if disk.name.starts_with("sr") || is_one("removable") {
        return Some("it is a removable medium".to_owned());
    }
    if is_one("ro") {
        return Some("it is read-only".to_owned());
    }
    if is_one("hidden") {
        return Some("it is a path of another disk".to_owned());
    }
    if let Err(error) = root.list(&folder) {
        return Some(format!("nothing is known of it ({folder}: {error})"));
    }
    if let Some(partition) = family::partitions(root, &disk.name).first() {
        return Some(format!("it has partitions ({partition})"));
    }
    for (names, what) in [
        (family::holders(root, &disk.name), "is used by"),
        (family::slaves(root, &disk.name), "is made of"),
    ] {
        if !names.is_empty() {
            return Some(format!("it {what} {}", names.join(", ")));
        }
    }
    let alone = Member {
        name: disk.name.clone(),
        number: disk.number.clone(),
        kind: Kind::Disk,
    };
    users::in_use(root, &[alone])
}
