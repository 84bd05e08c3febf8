//! Collects display devices and accelerators on PCI. Source of the rules:
//! docs/protocol/agent-inventory.md#10.

use muster_api::inventory::Gpu;

use super::{Problems, pci_ids};
use crate::root::{ProbeError, Root};

const FOLDER: &str = "/sys/bus/pci/devices";
/// VGA controller, 3D controller, other display controller, processing accelerator: base class and subclass.
const CLASSES: [u16; 4] = [0x0300, 0x0302, 0x0380, 0x1200];
/// Upstream's text for a name that is in no list.
const UNKNOWN: &str = "unknown";

struct Found {
    address: String,
    vendor: u16,
    device: u16,
}

/// In order of address. A device that cannot be read is left out and reported.
pub(super) fn gpus(root: &Root, problems: &mut Problems) -> Vec<Gpu> {
    let mut found = Vec::new();
    // A machine without PCI has no such folder, and no such device.
    for address in root.list(FOLDER).unwrap_or_default() {
        let path = format!("{FOLDER}/{address}/modalias");
        let alias = root.text(&path).map_err(ProbeError::reading(path.as_str()));
        let parsed = alias.and_then(|alias| {
            parse(&alias)
                .ok_or_else(|| ProbeError::content(path.as_str(), format!("is no PCI alias: {alias:?}")))
        });
        let Some(id) = problems.take("gpus", parsed) else {
            continue;
        };
        if CLASSES.contains(&id.class) {
            found.push(Found {
                address,
                vendor: id.vendor,
                device: id.device,
            });
        }
    }
    let wanted: Vec<(u16, u16)> = found.iter().map(|gpu| (gpu.vendor, gpu.device)).collect();
    let names = pci_ids::look_up(root, &wanted);
    found
        .into_iter()
        .map(|gpu| Gpu {
            name: names.device(gpu.vendor, gpu.device).unwrap_or(UNKNOWN).to_owned(),
            vendor: names.vendor(gpu.vendor).unwrap_or(UNKNOWN).to_owned(),
            vendor_id: format!("{:04x}", gpu.vendor),
            device_id: format!("{:04x}", gpu.device),
            address: gpu.address,
        })
        .collect()
}

#[derive(Debug, PartialEq)]
struct PciId {
    vendor: u16,
    device: u16,
    /// Base class and subclass.
    class: u16,
}

/// `pci:v00001AF4d00001050sv00001AF4sd00001100bc03sc00i00`
fn parse(alias: &str) -> Option<PciId> {
    let field = |from: usize, mark: &str, digits: usize| {
        let start = from + mark.len();
        let rest = alias.get(from..start)?;
        (rest == mark)
            .then(|| u32::from_str_radix(alias.get(start..start + digits)?, 16).ok())
            .flatten()
    };
    field(0, "pci:v", 8)?;
    let vendor = u16::try_from(field(0, "pci:v", 8)?).ok()?;
    let device = u16::try_from(field(13, "d", 8)?).ok()?;
    let base = u16::try_from(field(42, "bc", 2)?).ok()?;
    let sub = u16::try_from(field(46, "sc", 2)?).ok()?;
    Some(PciId {
        vendor,
        device,
        class: base << 8 | sub,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pci_alias_has_vendor_device_and_class() {
        let id = parse("pci:v00001AF4d00001050sv00001AF4sd00001100bc03sc80i00").unwrap();
        assert_eq!(
            id,
            PciId {
                vendor: 0x1af4,
                device: 0x1050,
                class: 0x0380
            }
        );
        for bad in [
            "",
            "pci:v",
            "usb:v1D6Bp0002d0601dc09",
            "pci:v0000é",
            "pci:v00001AF4d00001050sv00001AF4sd00001100bc",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn one_unreadable_device_costs_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        for (address, alias) in [
            (
                "0000:00:02.0",
                "pci:v00001AF4d00001050sv00001AF4sd00001100bc03sc00i00\n",
            ),
            ("0000:00:03.0", "rubbish\n"),
            (
                "0000:00:04.0",
                "pci:v0000FFFEd0000FFFEsv00001AF4sd00001100bc12sc00i00\n",
            ),
            (
                "0000:00:05.0",
                "pci:v00001AF4d00001041sv00001AF4sd00001100bc02sc00i00\n",
            ),
        ] {
            let device = dir.path().join(format!("sys/bus/pci/devices/{address}"));
            std::fs::create_dir_all(&device).unwrap();
            std::fs::write(device.join("modalias"), alias).unwrap();
        }
        let mut problems = Problems::default();
        let found = gpus(&Root::tree(dir.path()).unwrap(), &mut problems);
        let addresses: Vec<&str> = found.iter().map(|gpu| gpu.address.as_str()).collect();
        assert_eq!(addresses, ["0000:00:02.0", "0000:00:04.0"]);
        assert_eq!(found[1].name, "unknown");
        assert_eq!(problems.into_list().len(), 1);
    }
}
