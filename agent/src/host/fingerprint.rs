//! Reads the identifiers of this machine's parts, which distinguish it from another machine with the same host id.
//!
//! Only facts that the kernel already has are read: a hanging disk must not delay the registration.

use muster_api::fingerprint::{Fingerprint, MAX_TEXT};
use muster_api::inventory::Interface;

use crate::root::Root;

/// Computes the fingerprint of the machine under `root`; `interfaces` are those of its inventory.
pub fn compute(root: &Root, interfaces: &[Interface]) -> Fingerprint {
    let dmi = |name: &str| {
        root.text(&format!("/sys/class/dmi/id/{name}"))
            .unwrap_or_default()
    };
    let physical = interfaces.iter().filter(|interface| interface.kind == "physical");
    let fingerprint = Fingerprint {
        board_serial: dmi("board_serial"),
        system_serial: dmi("product_serial"),
        system_uuid: dmi("product_uuid"),
        macs: physical.map(|interface| interface.mac_address.clone()).collect(),
        disk_wwns: disk_wwns(root),
    };
    fingerprint.normalized()
}

/// In the inventory's spelling: `0x...` of SCSI and SATA disks, `eui....` and the like of NVMe namespaces.
fn disk_wwns(root: &Root) -> Vec<String> {
    let disks = root.list("/sys/block").unwrap_or_default();
    let disks = disks
        .iter()
        .filter(|name| name.starts_with("sd") || name.starts_with("nvme"));
    disks
        .filter_map(|name| {
            ["device/wwid", "wwid"]
                .iter()
                .find_map(|file| root.text(&format!("/sys/block/{name}/{file}")).ok())
        })
        .filter_map(|wwid| world_wide(&wwid))
        .collect()
}

/// `eui.`, `uuid.` and vendor texts (`t10.`, `nvme.`) stay as they are. Texts too long for the wire are left
/// out, since a cut one could be another disk's too.
fn world_wide(wwid: &str) -> Option<String> {
    let text = match wwid.trim().strip_prefix("naa.") {
        Some(naa) => format!("0x{naa}"),
        None => wwid.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    (!text.is_empty() && text.len() <= MAX_TEXT).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    fn interface(kind: &str, mac: &str) -> Interface {
        Interface {
            kind: kind.into(),
            mac_address: mac.into(),
            ..Interface::default()
        }
    }

    #[test]
    fn every_known_part_is_listed_sorted() {
        let machine = Machine::of(&[
            ("sys/class/dmi/id/board_serial", "B1\n"),
            ("sys/class/dmi/id/product_serial", "S1\n"),
            (
                "sys/class/dmi/id/product_uuid",
                "4C4C4544-0000-2010-8020-80C04F202020\n",
            ),
            ("sys/block/sdb/device/wwid", "naa.5000c500a1b2c3d4\n"),
            ("sys/block/sda/device/wwid", "naa.5000c50000000001\n"),
            ("sys/block/sdc/device/wwid", "\n"),
            ("sys/block/nvme0n1/wwid", "eui.0025385b21404321\n"),
            ("sys/block/vda/wwid", "not a disk with a name\n"),
        ]);
        let interfaces = [
            interface("physical", "52:54:00:00:00:0B"),
            interface("physical", "52:54:00:00:00:0a"),
            interface("bond", "52:54:00:00:00:0c"),
            interface("physical", ""),
        ];
        let found = compute(&machine.root(), &interfaces);
        let expected = concat!(
            r#"{"board_serial":"B1","system_serial":"S1","system_uuid":"4c4c4544-0000-2010-8020-80c04f202020","#,
            r#""macs":["52:54:00:00:00:0a","52:54:00:00:00:0b"],"#,
            r#""disk_wwns":["0x5000c50000000001","0x5000c500a1b2c3d4","eui.0025385b21404321"]}"#
        );
        assert_eq!(found.header_value(), expected);
    }

    #[test]
    fn a_machine_that_says_nothing_has_an_empty_fingerprint() {
        let machine = Machine::of(&[("sys/block/sda/device/wwid", &"x".repeat(MAX_TEXT + 1))]);
        assert_eq!(compute(&machine.root(), &[]).header_value(), "{}");
    }
}
