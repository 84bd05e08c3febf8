//! `disk_setup` and `fs_setup`.

use serde_json::{Value, json};

use super::super::refused::Refused;
use super::device;
use super::made::Made;
use super::node::{Members, Node};

const DISK: [&str; 3] = ["layout", "overwrite", "table_type"];

const FILESYSTEM: [&str; 8] = [
    "device",
    "extra_opts",
    "filesystem",
    "label",
    "overwrite",
    "partition",
    "replace_fs",
    "cmd",
];

const LINUX: &str = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";
const SWAP: &str = "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F";

/// Adds the disks; returns the filesystems, which mounts may still name a path for.
pub(super) fn translate(keys: &Members<'_>, made: &mut Made) -> Result<Vec<Value>, Refused> {
    if let Some(disks) = keys.get("disk_setup") {
        for (name, node) in disks.any_members()?.iter() {
            made.disks.extend(disk(name, &node)?);
        }
    }
    let Some(list) = keys.get("fs_setup") else {
        return Ok(Vec::new());
    };
    list.items()?.iter().map(filesystem).collect()
}

/// `None`: the disk is left as it is.
fn disk(name: &str, node: &Node<'_>) -> Result<Option<Value>, Refused> {
    let path = device::path(node, name)?;
    let entry = node.members(&DISK)?;
    let kind = entry.need("table_type")?;
    if kind.text()? != "gpt" {
        return Err(kind.refuse("must be gpt, which is all that Ignition makes"));
    }
    let wipe = entry.flag("overwrite")?;
    let Some(layout) = entry.get("layout") else {
        return Ok(None);
    };
    let partition = match layout.value() {
        Value::Bool(false) => return Ok(None),
        Value::Bool(true) => json!({"number": 1}),
        _ => json!({"number": 1, "typeGuid": only_partition(&layout)?}),
    };
    Ok(Some(
        json!({"device": path, "wipeTable": wipe, "partitions": [partition]}),
    ))
}

/// The type of the one partition of a list.
fn only_partition(layout: &Node<'_>) -> Result<&'static str, Refused> {
    const SHARES: &str =
        "divides the disk by percent, and Ignition needs sizes; write true for one partition over all of it";
    let items = layout.items()?;
    let [item] = items.as_slice() else {
        return Err(layout.refuse(SHARES));
    };
    let (share, kind) = match item.value() {
        Value::Array(pair) => {
            let [share, kind] = pair.as_slice() else {
                return Err(item.refuse("must be a percentage, or [percentage, type]"));
            };
            (share, Some(kind))
        }
        share => (share, None),
    };
    if share.as_u64() != Some(100) {
        return Err(layout.refuse(SHARES));
    }
    let kind = kind.map(|kind| match kind {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    match kind.as_deref() {
        None | Some("83" | "8300") => Ok(LINUX),
        Some("82" | "8200") => Ok(SWAP),
        Some(_) => Err(item.refuse("has a type other than 83 (Linux) and 82 (swap)")),
    }
}

fn filesystem(node: &Node<'_>) -> Result<Value, Refused> {
    let entry = node.members(&FILESYSTEM)?;
    for key in ["cmd", "replace_fs"] {
        if let Some(node) = entry.get(key) {
            return Err(node.refuse("has no counterpart in Ignition; leave it out"));
        }
    }
    let disk = entry.need("device")?;
    let path = device::path(&disk, disk.text()?)?;
    let format = entry.need("filesystem")?;
    if !["ext4", "xfs", "btrfs", "vfat", "swap"].contains(&format.text()?) {
        return Err(format.refuse("must be ext4, xfs, btrfs, vfat or swap"));
    }
    let mut made = json!({
        "device": partition(&entry, path)?,
        "format": format.text()?,
        "wipeFilesystem": entry.flag("overwrite")?,
    });
    if let Some(label) = entry.get("label") {
        made["label"] = label.line()?.into();
    }
    if let Some(options) = entry.get("extra_opts") {
        let options: Result<Vec<&str>, Refused> = options.items()?.iter().map(Node::line).collect();
        made["options"] = options?.into();
    }
    Ok(made)
}

fn partition(entry: &Members<'_>, disk: &str) -> Result<String, Refused> {
    let node = entry.need("partition")?;
    let text = match node.value() {
        Value::Number(number) => number.to_string(),
        _ => node.text()?.to_lowercase(),
    };
    match (text.as_str(), text.parse()) {
        ("none", _) => Ok(disk.to_owned()),
        (_, Ok(number @ 1..=128)) => Ok(device::partition(disk, number)),
        ("auto" | "any", _) => {
            Err(node
                .refuse("lets cloud-init look at the disk, which Ignition does not; write a number or none"))
        }
        _ => Err(node.refuse("must be the number of a partition, or none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(config: &Value) -> Result<(Vec<Value>, Vec<Value>), Refused> {
        let mut made = Made::default();
        let keys = Node::root(config).any_members()?;
        let filesystems = translate(&keys, &mut made)?;
        Ok((made.disks, filesystems))
    }

    #[test]
    fn a_disk_gets_one_partition_and_a_filesystem() {
        let config = json!({
            "disk_setup": {
                "/dev/vdb": {"table_type": "gpt", "layout": true, "overwrite": true},
                "/dev/vdc": {"table_type": "gpt", "layout": [[100, 82]]},
                "/dev/vdd": {"table_type": "gpt", "layout": false},
            },
            "fs_setup": [
                {"label": "etcd", "filesystem": "ext4", "device": "/dev/vdb", "partition": 1, "overwrite": true, "extra_opts": ["-E", "x"]},
                {"filesystem": "xfs", "device": "/dev/nvme0n1", "partition": "none"},
            ],
        });
        let (disks, filesystems) = of(&config).unwrap();
        assert_eq!(
            disks,
            [
                json!({"device": "/dev/vdb", "wipeTable": true, "partitions": [{"number": 1}]}),
                json!({"device": "/dev/vdc", "wipeTable": false, "partitions": [{"number": 1, "typeGuid": SWAP}]}),
            ]
        );
        assert_eq!(
            filesystems,
            [
                json!({"device": "/dev/vdb1", "format": "ext4", "wipeFilesystem": true, "label": "etcd", "options": ["-E", "x"]}),
                json!({"device": "/dev/nvme0n1", "format": "xfs", "wipeFilesystem": false}),
            ]
        );
    }

    #[test]
    fn what_ignition_cannot_do_is_refused_by_its_path() {
        let disk = |value: Value| json!({"disk_setup": {"/dev/vdc": value}});
        let filesystem = |value: Value| json!({"fs_setup": [value]});
        for (config, member) in [
            (
                disk(json!({"table_type": "mbr", "layout": true})),
                "disk_setup./dev/vdc.table_type",
            ),
            (disk(json!({"layout": true})), "disk_setup./dev/vdc.table_type"),
            (
                disk(json!({"table_type": "gpt", "layout": [60, 40]})),
                "disk_setup./dev/vdc.layout",
            ),
            (
                disk(json!({"table_type": "gpt", "layout": [50]})),
                "disk_setup./dev/vdc.layout",
            ),
            (
                disk(json!({"table_type": "gpt", "layout": [[100, "ef"]]})),
                "disk_setup./dev/vdc.layout.0",
            ),
            (
                json!({"disk_setup": {"ephemeral0": {"table_type": "gpt"}}}),
                "disk_setup.ephemeral0",
            ),
            (
                filesystem(json!({"device": "/dev/vdb", "filesystem": "ext4"})),
                "fs_setup.0.partition",
            ),
            (
                filesystem(json!({"device": "/dev/vdb", "filesystem": "ext4", "partition": "auto"})),
                "fs_setup.0.partition",
            ),
            (
                filesystem(json!({"device": "/dev/vdb", "filesystem": "ext4", "partition": 0})),
                "fs_setup.0.partition",
            ),
            (
                filesystem(json!({"device": "/dev/vdb", "filesystem": "ext3", "partition": 1})),
                "fs_setup.0.filesystem",
            ),
            (
                filesystem(json!({"device": "vdb", "filesystem": "ext4", "partition": 1})),
                "fs_setup.0.device",
            ),
            (
                filesystem(
                    json!({"device": "/dev/vdb", "filesystem": "ext4", "partition": 1, "replace_fs": "ntfs"}),
                ),
                "fs_setup.0.replace_fs",
            ),
        ] {
            assert_eq!(of(&config).unwrap_err().member, member, "{config}");
        }
    }
}
