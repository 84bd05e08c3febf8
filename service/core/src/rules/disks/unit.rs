//! Treats the entries of an inventory that are paths to one logical unit as one disk. Our agents report each unit once; those of other
//! makes report each path as a disk.

use muster_api::inventory::Disk;

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

/// Agents' reasons against one path are reasons against the unit: the indices of the entries that are paths to that of `index`.
pub fn other_paths(index: usize, disks: &[Disk]) -> impl Iterator<Item = usize> {
    let disk = &disks[index];
    let others = disks.iter().enumerate();
    others
        .filter(move |(other, path)| *other != index && is_path_to_same_unit(disk, path))
        .map(|(other, _)| other)
}

/// True when the disk of this id is protected by one of these ids: as itself, or under another name of its unit. A world-wide name alone is
/// enough: of two disks that share one the id may lead to either.
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

/// Multipath devices have the name of their paths; that is told by holders.
fn is_path_to_same_unit(one: &Disk, other: &Disk) -> bool {
    let is_path = |disk: &Disk| disk.drive_type != "Multipath" && disk.holders.is_empty();
    has_name_of(one, other)
        && one.serial == other.serial
        && one.size_bytes == other.size_bytes
        && is_path(one)
        && is_path(other)
}

fn has_name_of(one: &Disk, other: &Disk) -> bool {
    !one.wwn.is_empty() && one.wwn == other.wwn
}

/// Of disks that share a name, one has the id that is made of it.
fn shares_id_with_another_unit(disk: &Disk, other: &Disk) -> bool {
    let is_multipath = disk.drive_type == "Multipath" || other.drive_type == "Multipath";
    let by_name = !disk.by_id.is_empty() && disk.id == disk.by_id;
    let differs = disk.serial != other.serial || disk.size_bytes != other.size_bytes;
    by_name && differs && !is_multipath && has_name_of(disk, other)
}
