//! Finds the agent's reasons against installing to a disk. Source of the rules:
//! docs/protocol/agent-inventory.md#7.4. Sizes, types and membership are validated by the service; these texts must not resemble
//! the service's.

use super::block::BlockDevice;
use super::{Properties, drive_type};
use crate::inventory::mounts::Mount;

/// Kernel name prefixes of storage controllers that can be installed to.
const KNOWN: [&str; 8] = ["sd", "hd", "vd", "xvd", "sr", "nvme", "mmc", "loop"];

#[derive(Debug, Default, PartialEq)]
pub(super) struct Verdict {
    pub reasons: Vec<String>,
    pub is_installation_media: bool,
}

pub(super) fn verdict(device: &BlockDevice<'_>, properties: &Properties, mounts: &[Mount]) -> Verdict {
    let name = device.name();
    let dm_uuid = device.dm_uuid().unwrap_or_default();
    let mut verdict = Verdict {
        // The drive, not the medium: an empty one counts, and it stays eligible to the agent.
        is_installation_media: name.starts_with("sr"),
        ..Verdict::default()
    };
    let special = dm_uuid.starts_with("mpath-")
        || dm_uuid.starts_with("LVM-")
        || name.starts_with("dasd")
        || name.starts_with("md");
    if !special && !KNOWN.iter().any(|prefix| name.starts_with(prefix)) {
        verdict
            .reasons
            .push(format!("The storage controller of {name} is not known"));
    }
    if dm_uuid.starts_with("LVM-") {
        verdict
            .reasons
            .push("The device is an LVM logical volume".to_owned());
    }
    if drive_type::of(device, properties) == "iSCSI" {
        verdict.reasons.extend(iscsi_reason(device));
    }
    if labels(device).iter().any(|label| label.starts_with("agent")) {
        return verdict;
    }
    let mounted = mounted(device, mounts);
    let is_medium = !name.starts_with("sr")
        && (mounted.iter().any(|(_, target)| target.ends_with("iso")) || device.is_boot_medium());
    if is_medium {
        verdict.is_installation_media = true;
        verdict
            .reasons
            .push("The disk carries the ISO installation media".to_owned());
    }
    for (partition, target) in mounted {
        if !target.ends_with("iso") {
            let what = if partition == name {
                "The disk".to_owned()
            } else {
                format!("Partition {partition}")
            };
            verdict.reasons.push(format!("{what} is mounted at {target}"));
        }
    }
    verdict
}

/// Names of the disk's partitions, from udev's database or from the table itself.
fn labels(device: &BlockDevice<'_>) -> Vec<String> {
    let root = device.root();
    if device.name().starts_with("sr") {
        return Vec::new();
    }
    if !root.is_dir("/run/udev/data") {
        return device
            .partition_labels()
            .into_iter()
            .map(|(_, label)| label)
            .collect();
    }
    let of_partition = |partition: String| {
        let number = device.text(&format!("{partition}/dev")).ok()?;
        let text = root.text(&format!("/run/udev/data/b{number}")).ok()?;
        let label = text
            .lines()
            .find_map(|line| line.strip_prefix("E:ID_PART_ENTRY_NAME="))?;
        Some(label.to_owned())
    };
    device.partitions().into_iter().filter_map(of_partition).collect()
}

/// The mounted parts of the disk with their mount points: partitions, or the disk as a whole (as hybrid ISOs
/// are).
fn mounted(device: &BlockDevice<'_>, mounts: &[Mount]) -> Vec<(String, String)> {
    let mut names = device.partitions();
    names.push(device.name().to_owned());
    let mut found: Vec<(String, String)> = names
        .iter()
        .flat_map(|name| {
            let node = format!("/dev/{name}");
            mounts
                .iter()
                .filter(move |mount| mount.source == node)
                .map(|mount| (name.clone(), mount.target.clone()))
        })
        .collect();
    // Optical drives are media and stay eligible.
    if device.name().starts_with("sr") {
        found.clear();
    }
    found
}

/// The part of the disk's sysfs path that begins with `prefix` and a number (`host2`, `session1`).
fn path_part(device: &BlockDevice<'_>, prefix: &str) -> Option<String> {
    let sysfs = device.device()?;
    sysfs
        .path()
        .split('/')
        .find(|part| {
            part.strip_prefix(prefix)
                .is_some_and(|rest| rest.parse::<u32>().is_ok())
        })
        .map(str::to_owned)
}

/// The initiator's address; empty when unknown.
pub(super) fn iscsi_host_address(device: &BlockDevice<'_>) -> String {
    path_part(device, "host")
        .and_then(|host| {
            device
                .root()
                .text(&format!("/sys/class/iscsi_host/{host}/ipaddress"))
                .ok()
        })
        .unwrap_or_default()
}

/// An iSCSI disk can be booted from only when firmware knows its target (iBFT).
fn iscsi_reason(device: &BlockDevice<'_>) -> Option<String> {
    let root = device.root();
    let state = device.text("device/state").unwrap_or_default();
    if state != "running" {
        return Some("The iSCSI disk is not running".to_owned());
    }
    let Some(session) = path_part(device, "session") else {
        return Some("The iSCSI session of the disk cannot be found".to_owned());
    };
    let Ok(target) = root.text(&format!("/sys/class/iscsi_session/{session}/targetname")) else {
        return Some(format!("The iSCSI target of {session} cannot be found"));
    };
    let Ok(entries) = root.list("/sys/firmware/ibft") else {
        return Some("The firmware has no iSCSI boot table (iBFT)".to_owned());
    };
    let in_table = entries
        .iter()
        .filter(|entry| entry.starts_with("target"))
        .any(|entry| {
            root.text(&format!("/sys/firmware/ibft/{entry}/target-name"))
                .is_ok_and(|name| name == target)
        });
    (!in_table).then(|| format!("The iSCSI target {target} is missing from the firmware's boot table (iBFT)"))
}
