//! Reports disks, mounts and the links to disks from files of the kernel only: no disk is accessed, so none can
//! delay it.

use std::fmt::Write;

use crate::root::Root;

/// Attributes of a block device that describe it and its state.
const ATTRIBUTES: [&str; 9] = [
    "dev",
    "size",
    "ro",
    "removable",
    "device/vendor",
    "device/model",
    "device/state",
    "queue/rotational",
    "stat",
];
const FILES: [&str; 5] = [
    "/proc/self/mountinfo",
    "/proc/swaps",
    "/proc/partitions",
    "/proc/mdstat",
    "/proc/filesystems",
];

/// All facts about storage that need no access to a device.
pub(super) fn state(root: &Root) -> String {
    let mut text = String::new();
    for name in root.list("/sys/class/block").unwrap_or_default() {
        // Writing to a text cannot fail, here and below.
        let _ = write!(text, "{name}");
        for attribute in ATTRIBUTES {
            if let Ok(value) = root.text(&format!("/sys/class/block/{name}/{attribute}")) {
                let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
                let _ = write!(text, " {attribute}={value:?}");
            }
        }
        for list in ["holders", "slaves"] {
            let names = root
                .list(&format!("/sys/class/block/{name}/{list}"))
                .unwrap_or_default();
            if !names.is_empty() {
                let _ = write!(text, " {list}={}", names.join(","));
            }
        }
        text.push('\n');
    }
    for folder in ["/dev/disk/by-id", "/dev/disk/by-path"] {
        let _ = writeln!(text, "\n{folder}:");
        for name in root.list(folder).unwrap_or_default() {
            let target = root.link(&format!("{folder}/{name}")).unwrap_or_default();
            let _ = writeln!(text, "    {name} -> {target}");
        }
    }
    for file in FILES {
        if let Ok(content) = root.text(file) {
            let _ = writeln!(text, "\n{file}:\n{content}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn disks_links_and_mounts_are_reported() {
        let machine = Machine::new()
            .file("/sys/class/block/sda/dev", "8:0\n")
            .file("/sys/class/block/sda/device/model", "Disk  One \n")
            .file("/sys/class/block/sda/holders/dm-0", "")
            .link("/dev/disk/by-id/wwn-0x1", "../../sda")
            .file("/proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n");
        let text = state(&machine.root());
        assert!(
            text.contains(r#"sda dev="8:0" device/model="Disk One" holders=dm-0"#),
            "{text}"
        );
        assert!(text.contains("wwn-0x1 -> ../../sda"), "{text}");
        assert!(text.contains("/proc rw"), "{text}");
    }
}
