//! Paths of disks, partitions and filesystems.

use std::fmt::Write as _;

use super::super::refused::Refused;
use super::node::Node;

/// Reads the absolute path of a device.
pub(super) fn path<'a>(node: &Node<'_>, text: &'a str) -> Result<&'a str, Refused> {
    let rest = text.strip_prefix("/dev/").unwrap_or_default();
    let is_clean = rest.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:=#".contains(c);
    if is_clean && rest.chars().all(is_plain) {
        Ok(text)
    } else {
        Err(node.refuse("must be the path of a device, such as /dev/disk/by-id/ID"))
    }
}

/// The device of a disk's partition, by the rules of the kernel and of udev.
pub(super) fn partition(disk: &str, number: u64) -> String {
    if disk.starts_with("/dev/disk/") {
        format!("{disk}-part{number}")
    } else if disk.ends_with(|c: char| c.is_ascii_digit()) {
        format!("{disk}p{number}")
    } else {
        format!("{disk}{number}")
    }
}

/// Reads the source of a mount: `LABEL=`, `UUID=`, `PARTLABEL=`, `PARTUUID=`, a path, or the short name of a disk.
pub(super) fn source(node: &Node<'_>, text: &str) -> Result<String, Refused> {
    let kinds = [
        ("LABEL=", "label"),
        ("UUID=", "uuid"),
        ("PARTLABEL=", "partlabel"),
        ("PARTUUID=", "partuuid"),
    ];
    for (prefix, kind) in kinds {
        let Some(name) = text.strip_prefix(prefix) else {
            continue;
        };
        let name = name.trim_matches('"');
        if name.is_empty() {
            return Err(node.refuse("has an empty name"));
        }
        return Ok(format!("/dev/disk/by-{kind}/{}", encoded(name)));
    }
    let is_short = ["sd", "vd", "xvd", "hd", "nvme"]
        .iter()
        .any(|start| text.starts_with(start))
        && text.chars().all(|c| c.is_ascii_alphanumeric());
    if is_short {
        return Ok(format!("/dev/{text}"));
    }
    let why = "must be LABEL=, UUID=, PARTLABEL=, PARTUUID= or a device; write other mounts as units by write_files";
    path(node, text).map(str::to_owned).map_err(|_| node.refuse(why))
}

/// The form that udev gives to names in paths.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if !c.is_ascii() || c.is_ascii_alphanumeric() || "#+-.:=@_".contains(c) {
            text.push(c);
        } else {
            // Writing to a text cannot fail.
            write!(text, "\\x{:02x}", u32::from(c)).unwrap_or_default();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn devices_are_named_as_udev_does() {
        let value = json!("");
        let node = Node::root(&value);
        for (text, wanted) in [
            ("LABEL=etcd_disk", "/dev/disk/by-label/etcd_disk"),
            ("LABEL=\"a b\"", r"/dev/disk/by-label/a\x20b"),
            ("PARTUUID=0-1", "/dev/disk/by-partuuid/0-1"),
            ("vdb1", "/dev/vdb1"),
            ("/dev/mapper/x", "/dev/mapper/x"),
        ] {
            assert_eq!(source(&node, text).as_deref(), Ok(wanted), "{text}");
        }
        for bad in [
            "",
            "LABEL=",
            "server:/export",
            "tmpfs",
            "/var/x",
            "/dev/../x",
            "swap",
            "ephemeral0",
        ] {
            assert!(source(&node, bad).is_err(), "{bad}");
        }
        assert_eq!(partition("/dev/vdb", 1), "/dev/vdb1");
        assert_eq!(partition("/dev/nvme0n1", 2), "/dev/nvme0n1p2");
        assert_eq!(partition("/dev/disk/by-id/x", 3), "/dev/disk/by-id/x-part3");
    }
}
