//! Finds the names of PCI vendors and devices in the host's `pci.ids` if there is one, else in the list
//! inside this program.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;

use crate::root::Root;

/// Made by `agent/data/make-pci-ids.sh`.
const OWN_LIST: &[u8] = include_bytes!("../../data/pci.ids.gz");
const HOST_LISTS: [&str; 2] = ["/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids"];
/// A list unpacks to about 1.5 MB; a larger file is no such list.
const MAX_BYTES: u64 = 16 << 20;

/// Names of the requested devices.
#[derive(Debug, Default)]
pub(super) struct Names {
    vendors: BTreeMap<u16, String>,
    devices: BTreeMap<(u16, u16), String>,
}

impl Names {
    pub(super) fn vendor(&self, vendor: u16) -> Option<&str> {
        self.vendors.get(&vendor).map(String::as_str)
    }

    pub(super) fn device(&self, vendor: u16, device: u16) -> Option<&str> {
        self.devices.get(&(vendor, device)).map(String::as_str)
    }
}

/// Reads the names of the given pairs of vendor and device. Only they are kept.
pub(super) fn look_up(root: &Root, wanted: &[(u16, u16)]) -> Names {
    if wanted.is_empty() {
        return Names::default();
    }
    let own = parse(&own_list(), wanted);
    // Host lists are usually newer, but may be cut down.
    let mut names = own;
    if root.is_live()
        && let Some(text) = HOST_LISTS.iter().find_map(|path| root.text(path).ok())
    {
        let host = parse(&text, wanted);
        names.vendors.extend(host.vendors);
        names.devices.extend(host.devices);
    }
    names
}

fn own_list() -> String {
    let mut text = String::new();
    GzDecoder::new(OWN_LIST)
        .take(MAX_BYTES)
        .read_to_string(&mut text)
        .expect("the list was compressed when the program was built");
    text
}

fn parse(text: &str, wanted: &[(u16, u16)]) -> Names {
    let mut names = Names::default();
    let mut vendor = None;
    for line in text.lines() {
        if line.starts_with('#') || line.starts_with("\t\t") {
            continue;
        }
        // Classes follow all devices.
        if line.starts_with("C ") {
            break;
        }
        let Some((id, name)) = line.trim_start().split_once("  ") else {
            continue;
        };
        let Ok(id) = u16::from_str_radix(id, 16) else {
            continue;
        };
        if !line.starts_with('\t') {
            vendor = wanted.iter().any(|(vendor, _)| *vendor == id).then_some(id);
            if vendor.is_some() {
                names.vendors.insert(id, name.trim().to_owned());
            }
        } else if let Some(vendor) = vendor
            && wanted.contains(&(vendor, id))
        {
            names.devices.insert((vendor, id), name.trim().to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_inside_the_program_names_virtual_and_server_graphics() {
        let wanted = [
            (0x1af4, 0x1050),
            (0x1a03, 0x2000),
            (0x10de, 0x20b2),
            (0xffff, 0x1234),
        ];
        let names = parse(&own_list(), &wanted);
        assert_eq!(names.device(0x1af4, 0x1050), Some("Virtio 1.0 GPU"));
        assert_eq!(names.vendor(0x1af4), Some("Red Hat, Inc."));
        assert_eq!(names.device(0x1a03, 0x2000), Some("ASPEED Graphics Family"));
        assert_eq!(names.vendor(0x10de), Some("NVIDIA Corporation"));
        assert_eq!(names.device(0xffff, 0x1234), None);
    }

    #[test]
    fn subsystems_and_classes_are_no_devices() {
        let text = "1af4  Red Hat\n\t1050  GPU\n\t\t1af4 1100  QEMU\nC 03  Display controller\n\t00  VGA\n";
        let names = parse(text, &[(0x1af4, 0x1050), (0x1af4, 0)]);
        assert_eq!(names.device(0x1af4, 0x1050), Some("GPU"));
        assert_eq!(names.device(0x1af4, 0), None);
    }
}
