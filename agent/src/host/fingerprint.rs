//! Reads the identifiers of this machine's parts, which distinguish it from another machine with the same host id.
//!
//! Only facts that the kernel already has are read: a hanging disk must not delay the registration.

use muster_api::fingerprint::{Fingerprint, MAX_TEXT};
use muster_api::inventory::Interface;

use crate::root::Root;

/// Computes the fingerprint of the machine under `root`; `interfaces` are from its inventory.
pub fn compute(root: &Root, interfaces: &[Interface]) -> Fingerprint {
    let dmi = |name: &str| {
        root.text(&format!("/sys/class/dmi/id/{name}"))
            .unwrap_or_default()
    };
    let own = interfaces
        .iter()
        .filter(|interface| interface.kind == "physical" && is_lasting(root, &interface.name));
    let fingerprint = Fingerprint {
        board_serial: dmi("board_serial"),
        system_serial: dmi("product_serial"),
        system_uuid: dmi("product_uuid"),
        macs: own.map(|interface| interface.mac_address.clone()).collect(),
        disk_wwns: disk_wwns(root),
    };
    fingerprint.normalized()
}

/// False for cards on USB, which management controllers show to their host with one address on every board, and for addresses that the
/// kernel made up at this boot (`NET_ADDR_RANDOM`).
fn is_lasting(root: &Root, nic: &str) -> bool {
    let folder = format!("/sys/class/net/{nic}");
    let path = root.resolve(&folder).unwrap_or_default();
    let assigned = root.text(&format!("{folder}/addr_assign_type"));
    !path.contains("/usb") && !assigned.is_ok_and(|kind| kind == "1")
}

/// In the inventory's spelling: `0x...` of SCSI and SATA disks, `eui....` and the like of NVMe namespaces.
fn disk_wwns(root: &Root) -> Vec<String> {
    let disks = root.list("/sys/block").unwrap_or_default();
    let disks = disks
        .iter()
        .filter(|name| name.starts_with("sd") || name.starts_with("nvme"));
    disks
        .filter(|name| is_of_one_machine(root, name))
        .filter_map(|name| {
            ["device/wwid", "wwid"]
                .iter()
                .find_map(|file| root.text(&format!("/sys/block/{name}/{file}")).ok())
        })
        .filter_map(|wwid| world_wide(&wwid))
        .collect()
}

/// False for disks that another machine may see or get: behind Fibre Channel, iSCSI and NVMe over fabrics, SAS disks that may
/// be attached to two controllers, and USB devices.
fn is_of_one_machine(root: &Root, disk: &str) -> bool {
    let text = |file: &str| {
        root.text(&format!("/sys/block/{disk}/{file}"))
            .unwrap_or_default()
    };
    let path = root.resolve(&format!("/sys/block/{disk}")).unwrap_or_default();
    if disk.starts_with("nvme") {
        return nvme_transports(root, disk, &path)
            .iter()
            .all(|transport| transport == "pcie");
    }
    // A SATA disk has one port; expanders show it as they show SAS disks.
    let has_two_ports = path.contains("/end_device-") && text("device/vendor").trim() != "ATA";
    let is_shared = ["/rport-", "/session", "/usb", "/expander-"]
        .iter()
        .any(|part| path.contains(part));
    !(is_shared || has_two_ports)
}

/// The transports of the controllers of a namespace; with multipath the namespace is in a subsystem of several.
fn nvme_transports(root: &Root, disk: &str, path: &str) -> Vec<String> {
    let of = |controller: &str| root.text(&format!("/sys/class/nvme/{controller}/transport")).ok();
    let subsystem = path.strip_suffix(&format!("/{disk}")).unwrap_or_default();
    let controllers = root.list(subsystem).unwrap_or_default();
    let parent = subsystem.rsplit('/').next().unwrap_or_default();
    let names = controllers.iter().map(String::as_str).chain([parent]);
    names.filter_map(of).collect()
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
    fn parts_that_another_machine_may_have_are_left_out() {
        let wwid = |text: &'static str| [("device/wwid", text)];
        let mut machine = Machine::new()
            .nic("pci0000:00/0000:00:1.0/net/eth0", &[("addr_assign_type", "0")])
            .nic("pci0000:00/0000:00:2.0/net/eth1", &[("addr_assign_type", "1")])
            .nic("pci0000:00/0000:00:14.0/usb1/1-3/1-3:1.0/net/usb0", &[])
            .file("/sys/class/nvme/nvme0/transport", "pcie\n")
            .file("/sys/class/nvme/nvme1/transport", "tcp\n")
            .file("/sys/devices/virtual/nvme-subsystem/nvme-subsys1/nvme1/x", "");
        for (name, path, files) in [
            ("sda", "pci0/ata1/host0/target0:0:0/0:0:0:0", wwid("naa.1")),
            ("sdb", "pci0/host1/rport-1:0-0/target1:0:0/1:0:0:0", wwid("naa.2")),
            (
                "sdc",
                "platform/host2/session1/target2:0:0/2:0:0:0",
                wwid("naa.3"),
            ),
            (
                "sdd",
                "pci0/host3/port-3:0/expander-3:0/port-3:0:1/end_device-3:0:1/target",
                wwid("naa.4"),
            ),
            (
                "sde",
                "pci0/host3/port-3:0/end_device-3:0/target3:0:0/3:0:0:0",
                wwid("naa.5"),
            ),
            ("sdg", "pci0/usb1/1-1/host5/target5:0:0/5:0:0:0", wwid("naa.7")),
            ("sdh", "pci0/host6/target6:2:0/6:2:0:0", wwid("naa.8")),
        ] {
            machine = machine.disk(&format!("{path}/block/{name}"), &files);
        }
        let sata = [("device/wwid", "naa.6"), ("device/vendor", "ATA     ")];
        machine = machine.disk("pci0/host3/port-3:1/end_device-3:1/target3:0:1/block/sdf", &sata);
        for (path, wwid) in [
            ("pci0/nvme/nvme0/nvme0n1", "eui.a"),
            ("virtual/nvme-subsystem/nvme-subsys1/nvme1n1", "eui.b"),
        ] {
            machine = machine.disk(path, &[("wwid", wwid)]);
        }
        let named = |name: &str, mac: &str| Interface {
            name: name.into(),
            ..interface("physical", mac)
        };
        let interfaces = [
            named("eth0", "00:25:90:00:00:01"),
            named("eth1", "06:25:90:00:00:02"),
            named("usb0", "b0:3a:f2:b6:05:9f"),
        ];
        let found = compute(&machine.root(), &interfaces);
        assert_eq!(found.macs, ["00:25:90:00:00:01"]);
        assert_eq!(found.disk_wwns, ["0x1", "0x6", "0x8", "eui.a"]);
    }

    #[test]
    fn a_machine_that_says_nothing_has_an_empty_fingerprint() {
        let machine = Machine::of(&[("sys/block/sda/device/wwid", &"x".repeat(MAX_TEXT + 1))]);
        assert_eq!(compute(&machine.root(), &[]).header_value(), "{}");
    }
}
