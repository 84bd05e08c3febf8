//! What udev knows of a disk, under udev's names: out of its database where it runs, else worked out as its rules do.

use std::collections::BTreeMap;

use super::block::BlockDevice;
use super::{identity, path_id};

/// Kernel names that udev's rules for persistent storage cover.
const COVERED: [&str; 15] = [
    "mmcblk", "msblk", "mspblk", "nvme", "sd", "sr", "vd", "xvd", "bcache", "cciss", "dasd", "ubd", "scm",
    "pmem", "nbd",
];

/// `ID_PATH`, `ID_SERIAL`, ... Empty values are not kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Properties(BTreeMap<String, String>);

impl Properties {
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The value of the first key that has one.
    pub(crate) fn first(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.get(key))
    }

    pub(super) fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.0.insert(key.to_owned(), value);
        }
    }

    fn parse(text: &str) -> Self {
        let mut properties = Self::default();
        for (key, value) in text
            .lines()
            .filter_map(|line| line.strip_prefix("E:")?.split_once('='))
        {
            properties.set(key, value);
        }
        properties
    }
}

/// udev's own properties of a disk, else [`native`] ones.
pub(super) fn of(device: &BlockDevice<'_>) -> Properties {
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
