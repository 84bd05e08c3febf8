//! Reads the properties of a disk from udev's database if udev runs, and else computes them as its rules do.

use super::block::BlockDevice;
use super::{Properties, identity, path_id};

/// Kernel names that udev's rules for persistent storage cover.
const COVERED: [&str; 15] = [
    "mmcblk", "msblk", "mspblk", "nvme", "sd", "sr", "vd", "xvd", "bcache", "cciss", "dasd", "ubd", "scm",
    "pmem", "nbd",
];

/// udev's own properties of a disk, else [`native`] ones.
pub(super) fn properties(device: &BlockDevice<'_>) -> Properties {
    let known = device
        .text("dev")
        .ok()
        .and_then(|number| device.root().text(&format!("/run/udev/data/b{number}")).ok())
        .map(|text| Properties::parse(&text));
    match known {
        Some(properties) => properties,
        None => native(device),
    }
}

/// The properties that udev would have, from sysfs and the device itself.
pub(crate) fn native(device: &BlockDevice<'_>) -> Properties {
    let mut properties = Properties::default();
    identity::device_mapper(device, &mut properties);
    if !COVERED.iter().any(|prefix| device.name().starts_with(prefix)) {
        return properties;
    }
    identity::read(device, &mut properties);
    let Some(sysfs) = device.device() else {
        return properties;
    };
    let of_subsystem = sysfs
        .chain()
        .any(|parent| parent.subsystem().as_deref() == Some("nvme-subsystem"));
    if (!sysfs.path().contains("/virtual/") || of_subsystem)
        && let Some(id) = path_id::of(&sysfs)
    {
        properties.set("ID_PATH", id.path);
        properties.set("ID_PATH_ATA_COMPAT", id.ata_compat.unwrap_or_default());
    }
    properties
}
