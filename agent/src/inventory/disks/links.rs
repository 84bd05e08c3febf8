//! Computes the links under `/dev/disk/by-id` and `/dev/disk/by-path` that udev would make. Without udev,
//! process 1 makes them, so that the ids in the inventory can be opened.

use std::collections::BTreeMap;
use std::time::Duration;

use muster_api::placeholder::named;

use super::block::{self, BlockDevice};
use super::udev::native;
use super::udev_text::link_name;
use super::{Properties, patience};
use crate::root::Root;

/// A disk without a response for this long keeps its links.
const PATIENCE: Duration = Duration::from_secs(15);

/// The links of all disks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// `(link, target)`, absolute paths, in order of link; disks and their partitions.
    pub links: Vec<(String, String)>,
    /// Names of disks that do not respond; their links are unknown.
    pub silent: Vec<String>,
}

impl Plan {
    /// True for the device node of a disk that does not respond, or of its partition.
    pub fn is_silent(&self, node: &str) -> bool {
        let name = node.strip_prefix("/dev/").unwrap_or(node);
        self.silent.iter().any(|silent| name.starts_with(silent.as_str()))
    }
}

/// Computes all links. Of two disks with the same link, the first by name has it.
pub fn plan(root: &Root) -> Plan {
    let devices = block::list(root).unwrap_or_default();
    let names: Vec<String> = devices.iter().map(|device| device.name().to_owned()).collect();
    let answers: Vec<Option<Vec<(String, String)>>> = if root.answers_for_this_machine() {
        patience::each("disk links", names.clone(), PATIENCE, |name| {
            let root = Root::live();
            links_of(&BlockDevice::named(&root, name))
        })
    } else {
        devices.iter().map(|device| Some(links_of(device))).collect()
    };
    let mut links = BTreeMap::new();
    let mut silent = Vec::new();
    for (name, answer) in names.into_iter().zip(answers) {
        match answer {
            Some(found) => {
                for (link, target) in found {
                    links.entry(link).or_insert(target);
                }
            }
            None => silent.push(name),
        }
    }
    Plan {
        links: links.into_iter().collect(),
        silent,
    }
}

/// The links of one disk and its partitions.
fn links_of(device: &BlockDevice<'_>) -> Vec<(String, String)> {
    let mut links = Vec::new();
    let mut add = |link: String, name: &str| {
        // Texts from devices never leave the folder.
        if !link.contains("/..") && !link.ends_with('/') {
            links.push((format!("/dev/disk/{link}"), format!("/dev/{name}")));
        }
    };
    let partitions = device.partitions();
    for name in names(device, &native(device)) {
        for partition in &partitions {
            if let Some(number) = device.partition_number(partition) {
                add(format!("{name}-part{number}"), partition);
            }
        }
        add(name, device.name());
    }
    links
}

/// `by-path/...` and `by-id/...` of a disk.
fn names(device: &BlockDevice<'_>, properties: &Properties) -> Vec<String> {
    let mut names = Vec::new();
    let name = device.name();
    if let Some(path) = properties.get("ID_PATH") {
        names.push(format!("by-path/{path}"));
        if name.starts_with("vd") && path.starts_with("pci-") {
            names.push(format!("by-path/virtio-{path}"));
        }
    }
    let mut id = |prefix: &str, key: &str| {
        if let Some(text) = properties.get(key).and_then(named) {
            names.push(format!("by-id/{prefix}-{}", link_name(text)));
        }
    };
    id("wwn", "ID_WWN_WITH_EXTENSION");
    if name.starts_with("nvme") {
        id("nvme", "ID_WWN");
        id("nvme", "ID_SERIAL");
        id("nvme", "ID_NVME_SERIAL_OBSOLETE");
    } else if name.starts_with("vd") {
        id("virtio", "ID_SERIAL");
    } else if name.starts_with("pmem") {
        id("pmem", "ID_PMEM_UUID");
    } else if name.starts_with("sd") || name.starts_with("sr") {
        id(properties.get("ID_BUS").unwrap_or("scsi"), "ID_SERIAL");
        id("usb", "ID_USB_SERIAL");
    }
    if let Some(path) = properties.get("ID_PATH_ATA_COMPAT") {
        names.push(format!("by-path/{path}"));
    }
    if let (Some(card), Some(serial)) = (properties.get("ID_NAME"), properties.get("ID_SERIAL")) {
        names.push(format!("by-id/mmc-{}", link_name(&format!("{card}_{serial}"))));
    }
    names
}
