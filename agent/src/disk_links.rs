//! The links under `/dev/disk/by-id` and `/dev/disk/by-path` that udev would make. Where no udev runs, process 1
//! makes them, so that the ids in the inventory can be opened.

use std::collections::BTreeMap;

use crate::inventory::disks::block::{self, BlockDevice};
use crate::inventory::disks::{Properties, link_name, native};
use crate::root::Root;

/// `(link, target)`, absolute paths, in order of link; disks and their partitions.
///
/// Of two disks that want one link, the first by name has it.
pub fn plan(root: &Root) -> Vec<(String, String)> {
    let mut links = BTreeMap::new();
    for device in block::list(root).unwrap_or_default() {
        let names = names(&device, &native(&device));
        let mut add = |link: String, name: &str| {
            // Texts from devices never leave the folder.
            if !link.contains("/..") && !link.ends_with('/') {
                links
                    .entry(format!("/dev/disk/{link}"))
                    .or_insert_with(|| format!("/dev/{name}"));
            }
        };
        let partitions = device.partitions();
        for name in names {
            for partition in &partitions {
                if let Some(number) = device.partition_number(partition) {
                    add(format!("{name}-part{number}"), partition);
                }
            }
            add(name, device.name());
        }
    }
    links.into_iter().collect()
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
        if let Some(text) = properties.get(key) {
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
