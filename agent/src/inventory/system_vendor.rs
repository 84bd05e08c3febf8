//! Finds the maker of the machine, and detects virtual machines. Source of the rules:
//! docs/protocol/agent-inventory.md#11.

use muster_api::inventory::SystemVendor;

use super::smbios;
use crate::root::Root;

const DMI: &str = "/sys/class/dmi/id";
/// Upstream's text for a field that DMI leaves out.
const UNKNOWN: &str = "unknown";

/// Vendors of virtual machines only, as their names begin in DMI. Oracle and Amazon also make real ones.
const VIRTUAL_VENDORS: [&str; 13] = [
    "KVM",
    "OpenStack",
    "KubeVirt",
    "QEMU",
    "VMware",
    "VMW",
    "innotek GmbH",
    "VirtualBox",
    "Xen",
    "Bochs",
    "Parallels",
    "BHYVE",
    "Apple Virtualization",
];

pub(super) fn system_vendor(root: &Root, cpu_flags: &[String]) -> SystemVendor {
    let mut vendor = SystemVendor {
        manufacturer: dmi(root, "sys_vendor"),
        product_name: dmi(root, "product_name"),
        serial_number: dmi(root, "product_serial"),
        is_virtual: false,
    };
    if dmi(root, "chassis_asset_tag") == "OracleCloud.com" {
        vendor.manufacturer = "OracleCloud.com".to_owned();
    }
    if matches!(dmi(root, "product_family").as_str(), "oVirt" | "RHV") {
        vendor.product_name = "oVirt".to_owned();
    }
    if vendor.manufacturer == UNKNOWN && mainframe(root, &mut vendor) {
        return vendor;
    }
    vendor.is_virtual = is_virtual(root, cpu_flags);
    vendor
}

fn dmi(root: &Root, file: &str) -> String {
    let text = root.text(&format!("{DMI}/{file}")).unwrap_or_default();
    if text.is_empty() { UNKNOWN.to_owned() } else { text }
}

/// s390x has no DMI. `z/VM` guests do not count as virtual, KVM guests do.
fn mainframe(root: &Root, vendor: &mut SystemVendor) -> bool {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    let vendor_id = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("vendor_id")?.split_once(':'));
    let Some((_, id)) = vendor_id.filter(|(_, id)| id.trim() == "IBM/S390") else {
        return false;
    };
    vendor.manufacturer = id.trim().to_owned();
    let sysinfo = root.text("/proc/sysinfo").unwrap_or_default();
    let program = sysinfo
        .lines()
        .filter(|line| line.starts_with("VM"))
        .find_map(|line| line.split_once("Control Program:"))
        .map(|(_, program)| program.trim().to_owned());
    vendor.is_virtual = program.as_deref() == Some("KVM/Linux");
    vendor.product_name = program.unwrap_or_else(|| "LPAR".to_owned());
    true
}

/// Decides as `systemd-detect-virt --vm` does: the hypervisor's CPU flag, firmware's own bit, vendors of
/// virtual machines, Xen and device trees.
fn is_virtual(root: &Root, cpu_flags: &[String]) -> bool {
    // Xen's first domain runs on the real machine, under the hypervisor.
    if root
        .text("/proc/xen/capabilities")
        .is_ok_and(|text| text.contains("control_d"))
    {
        return false;
    }
    let table = root.read("/sys/firmware/dmi/tables/DMI").unwrap_or_default();
    let names = ["product_name", "sys_vendor", "board_vendor", "bios_vendor"].map(|file| dmi(root, file));
    let by_vendor = names
        .iter()
        .any(|name| VIRTUAL_VENDORS.iter().any(|vendor| name.starts_with(vendor)));
    cpu_flags.iter().any(|flag| flag == "hypervisor")
        || smbios::says_virtual(&table)
        || by_vendor
        || root.text("/sys/hypervisor/type").is_ok()
        || root.exists("/proc/device-tree/hypervisor/compatible")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn a_machine_without_dmi_says_unknown() {
        let machine = Machine::of(&[]);
        let vendor = system_vendor(&machine.root(), &[]);
        assert_eq!(vendor.manufacturer, "unknown");
        assert_eq!(vendor.serial_number, "unknown");
        assert!(!vendor.is_virtual);
    }

    #[test]
    fn clouds_and_ovirt_are_recognised_by_their_marks() {
        let machine = Machine::of(&[
            ("sys/class/dmi/id/sys_vendor", "Oracle Corporation\n"),
            ("sys/class/dmi/id/chassis_asset_tag", "OracleCloud.com\n"),
            ("sys/class/dmi/id/product_name", "x\n"),
            ("sys/class/dmi/id/product_family", "RHV\n"),
        ]);
        let vendor = system_vendor(&machine.root(), &[]);
        assert_eq!(vendor.manufacturer, "OracleCloud.com");
        assert_eq!(vendor.product_name, "oVirt");
        assert!(!vendor.is_virtual);
    }

    #[test]
    fn vmware_is_virtual_without_a_cpu_flag() {
        let machine = Machine::of(&[("sys/class/dmi/id/sys_vendor", " VMware, Inc. \n")]);
        let vendor = system_vendor(&machine.root(), &[]);
        assert_eq!(vendor.manufacturer, "VMware, Inc.");
        assert!(vendor.is_virtual);
    }

    #[test]
    fn a_mainframe_guest_is_named_by_its_control_program() {
        for (program, is_virtual) in [("KVM/Linux", true), ("z/VM    7.3.0", false)] {
            let sysinfo =
                format!("Type: 8561\nVM00 Name:            guest\nVM00 Control Program: {program}\n");
            let machine = Machine::of(&[
                ("proc/cpuinfo", "vendor_id       : IBM/S390\n"),
                ("proc/sysinfo", &sysinfo),
            ]);
            let vendor = system_vendor(&machine.root(), &[]);
            assert_eq!(vendor.manufacturer, "IBM/S390");
            assert_eq!(vendor.product_name, program);
            assert_eq!(vendor.is_virtual, is_virtual);
        }
    }

    #[test]
    fn bytes_that_are_no_utf8_do_not_lose_the_rest() {
        let machine = Machine::new()
            .file("/sys/class/dmi/id/sys_vendor", b"Ac\xffme\n")
            .file("/sys/class/dmi/id/product_name", b"Rack\n");
        let vendor = system_vendor(&machine.root(), &[]);
        assert_eq!(vendor.manufacturer, "Ac\u{fffd}me");
        assert_eq!(vendor.product_name, "Rack");
    }
}
