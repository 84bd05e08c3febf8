//! Finds the users of a disk: mounts, swap, and groups of devices that must not be taken apart.

use super::family::{Kind, Member};
use crate::root::Root;

/// The reason not to write to the disk with these members; none if it is free or can be freed.
pub fn in_use(root: &Root, members: &[Member]) -> Option<String> {
    members.iter().find_map(|member| {
        mounted(root, member)
            .or_else(|| swapped(root, member))
            .or_else(|| other(member))
    })
}

/// Devices built by programs that this agent cannot end.
fn other(member: &Member) -> Option<String> {
    match &member.kind {
        Kind::Other => Some(format!(
            "{} is built upon it, and this agent cannot end that",
            member.name
        )),
        Kind::Mapper { name, uuid } if uuid.starts_with("mpath-") => Some(format!(
            "it is a path of the multipath device {name}; choose that device (/dev/mapper/{name}), not one of its paths"
        )),
        Kind::Mapper { .. } | Kind::Disk | Kind::Partition | Kind::Array => None,
    }
}

fn mounted(root: &Root, member: &Member) -> Option<String> {
    let what = |target: &str| match member.kind {
        Kind::Disk => format!("it is mounted at {target}"),
        _ => format!("{} of it is mounted at {target}", member.name),
    };
    // Process 1 first: in a container, the mounts of this process are not the host's.
    for file in ["/proc/1/mountinfo", "/proc/self/mountinfo"] {
        let text = match root.text(file) {
            Ok(text) => text,
            Err(_) if file.starts_with("/proc/1/") => continue,
            Err(error) => return Some(format!("what is mounted is not known ({file}: {error})")),
        };
        if let Some(target) = text.lines().find_map(|line| mount_of(line, member)) {
            return Some(what(&target));
        }
    }
    None
}

/// The mount point, if this line of mountinfo is a mount of the member. The source counts, too: file systems over several
/// disks have numbers of their own. Source: proc(5), `/proc/pid/mountinfo`.
fn mount_of(line: &str, member: &Member) -> Option<String> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ');
    let number = fields.nth(2)?;
    let target = fields.nth(1)?;
    let source = after.split(' ').nth(1)?;
    let same = number == member.number
        || source == format!("/dev/{}", member.name)
        || matches!(&member.kind, Kind::Mapper { name, .. } if source == format!("/dev/mapper/{name}"));
    same.then(|| target.to_owned())
}

fn swapped(root: &Root, member: &Member) -> Option<String> {
    let text = root.text("/proc/swaps").unwrap_or_default();
    let used = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .filter_map(|place| root.resolve(place).ok())
        .any(|place| place == format!("/dev/{}", member.name));
    used.then(|| match member.kind {
        Kind::Disk => "it is swap".to_owned(),
        _ => format!("{} is swap", member.name),
    })
}

#[cfg(test)]
mod tests {
    use super::super::family;
    use super::*;

    fn reason(files: &[(&str, &str)], disk: &str) -> Option<String> {
        let mut machine = family::tests::machine().file("dev/sda2", "").file("dev/sdaa", "");
        for (path, text) in files {
            machine = machine.file(path, text);
        }
        let root = machine.root();
        in_use(&root, &family::of(&root, disk))
    }

    const NOTHING: (&str, &str) = ("proc/self/mountinfo", "22 1 0:20 / /run rw - tmpfs tmpfs rw\n");

    #[test]
    fn a_mount_of_anything_on_the_disk_counts_and_one_of_its_neighbour_does_not() {
        assert_eq!(reason(&[NOTHING], "sda"), None);
        for (line, word) in [
            (
                "36 1 8:1 / /boot rw - ext4 /dev/sda1 rw",
                "sda1 of it is mounted at /boot",
            ),
            (
                "36 1 253:0 / / rw shared:1 - xfs /dev/mapper/vg-root rw",
                "dm-0 of it is mounted at /",
            ),
            (
                "36 1 0:45 / /data rw - btrfs /dev/sda2 rw",
                "sda2 of it is mounted at /data",
            ),
            (
                "36 1 8:0 / /iso rw - iso9660 /dev/sda rw",
                "it is mounted at /iso",
            ),
        ] {
            let found = reason(&[("proc/self/mountinfo", line)], "sda");
            assert_eq!(found.as_deref(), Some(word), "{line}");
        }
        for line in [
            "36 1 65:160 / /data rw - ext4 /dev/sdaa rw",
            "36 1 65:161 / /data rw - ext4 /dev/sdaa1 rw",
            "36 1 253:1 / /data rw - ext4 /dev/mapper/other-data rw",
        ] {
            assert_eq!(reason(&[("proc/self/mountinfo", line)], "sda"), None, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_known_is_a_reason() {
        let found = reason(&[], "sda").unwrap();
        assert!(found.contains("not known"), "{found}");
    }

    #[test]
    fn swap_is_a_use() {
        let swaps = "Filename Type Size Used Priority\n/dev/sda2 partition 100 0 -2\n";
        let found = reason(&[NOTHING, ("proc/swaps", swaps)], "sda");
        assert_eq!(found.as_deref(), Some("sda2 is swap"));
        let swaps = "Filename Type Size Used Priority\n/dev/sdaa partition 100 0 -2\n";
        assert_eq!(reason(&[NOTHING, ("proc/swaps", swaps)], "sda"), None);
    }
}
