//! Partitions in the file of a disk, as programs of others see them: sgdisk, blkid, mtools.

use std::path::Path;
use std::process::Command;

use crate::process::run;

/// Bytes of a sector of the lab's disks.
const SECTOR: u64 = 512;

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    pub number: u32,
    pub name: String,
    /// Bytes from the beginning of the disk.
    pub start: u64,
    /// Bytes.
    pub size: u64,
}

impl Partition {
    /// The first byte behind it.
    pub fn end(&self) -> u64 {
        self.start + self.size
    }

    /// The label of its file system.
    ///
    /// # Panics
    /// If it has none.
    #[track_caller]
    pub fn label(&self, disk: &Path) -> String {
        let mut blkid = Command::new("blkid");
        blkid.args(["--probe", "--match-tag", "LABEL", "--output", "value"]);
        blkid.args([
            "--offset",
            &self.start.to_string(),
            "--size",
            &self.size.to_string(),
        ]);
        run(blkid.arg(disk)).trim().to_owned()
    }

    /// The content of a file in the top folder of its FAT.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn fat_file(&self, disk: &Path, name: &str) -> String {
        let mut mtype = Command::new("mtype");
        mtype.arg("-i").arg(format!("{}@@{}", disk.display(), self.start));
        run(mtype.arg(format!("::{name}")))
    }
}

/// The partitions of a disk, by their numbers.
pub fn partitions(disk: &Path) -> Vec<Partition> {
    let printed = run(Command::new("sgdisk").arg("--print").arg(disk));
    let rows = printed.lines().skip_while(|line| !line.starts_with("Number"));
    rows.filter_map(partition).collect()
}

/// The partition of that name.
///
/// # Panics
/// If there is not exactly one.
#[track_caller]
pub fn named(disk: &Path, name: &str) -> Partition {
    let all = partitions(disk);
    let mut found = all.iter().filter(|partition| partition.name == name);
    match (found.next(), found.next()) {
        (Some(one), None) => one.clone(),
        _ => panic!("{}: not one partition {name} in {all:?}", disk.display()),
    }
}

/// Checks that both partition tables of a disk are whole and the same.
///
/// # Panics
/// If they are not.
#[track_caller]
pub fn assert_tables(disk: &Path) {
    let printed = run(Command::new("sgdisk").arg("--verify").arg(disk));
    assert!(
        printed.contains("No problems found"),
        "{}:\n{printed}",
        disk.display()
    );
}

/// Reads a row of sgdisk's list: number, first and last sector, size, unit, code, name. `None`: it is another line.
fn partition(row: &str) -> Option<Partition> {
    let words: Vec<&str> = row.split_whitespace().collect();
    let [number, first, last, _, _, _, name @ ..] = words.as_slice() else {
        return None;
    };
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    Some(Partition {
        number: number.parse().ok()?,
        name: name.join(" "),
        start: first * SECTOR,
        size: (last - first + 1) * SECTOR,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_the_list_is_a_partition_and_its_heading_is_none() {
        let read = partition("   2       251646976       251655167   4.0 MiB     0700  CIDATA");
        let wanted = Partition {
            number: 2,
            name: "CIDATA".into(),
            start: 251_646_976 * 512,
            size: 4 << 20,
        };
        assert_eq!(read, Some(wanted));
        assert_eq!(
            partition("Number  Start (sector)    End (sector)  Size       Code  Name"),
            None
        );
        assert_eq!(partition(""), None);
    }
}
