//! Converts a host's inventory to the custom resource's. Source: docs/protocol/crd-fields.json
//! (`status.inventory`) and recorded objects.
//!
//! Zero values are left out as upstream does; parts that a host did not report are empty objects, which
//! clients rely on.

use muster_api::inventory::{self as reported, Inventory};
use muster_resources::inventory::{
    HostBoot, HostCpu, HostDisk, HostGpu, HostInstallationEligibility, HostInterface, HostInventory,
    HostIoPerf, HostMemory, HostSystemVendor,
};

/// Converts an inventory to `status.inventory`.
pub fn shown(inventory: &Inventory) -> HostInventory {
    HostInventory {
        hostname: text(&inventory.hostname),
        bmc_address: text(&inventory.bmc_address),
        bmc_v6_address: text(&inventory.bmc_v6address),
        boot: Some(inventory.boot.as_ref().map(boot).unwrap_or_default()),
        cpu: Some(inventory.cpu.as_ref().map(cpu).unwrap_or_default()),
        memory: Some(inventory.memory.as_ref().map(memory).unwrap_or_default()),
        disks: inventory.disks.iter().map(disk).collect(),
        interfaces: inventory.interfaces.iter().map(interface).collect(),
        gpus: inventory.gpus.iter().map(gpu).collect(),
        system_vendor: Some(inventory.system_vendor.as_ref().map(vendor).unwrap_or_default()),
        report_time: None,
    }
}

fn boot(boot: &reported::Boot) -> HostBoot {
    HostBoot {
        current_boot_mode: text(&boot.current_boot_mode),
        device_type: text(&boot.device_type),
        pxe_interface: text(&boot.pxe_interface),
    }
}

fn cpu(cpu: &reported::Cpu) -> HostCpu {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "MHz, and a cast of a float saturates"
    )]
    let clock = cpu.frequency as i64;
    HostCpu {
        count: number(cpu.count),
        clock_megahertz: number(clock),
        flags: cpu.flags.clone(),
        model_name: text(&cpu.model_name),
        architecture: text(&cpu.architecture),
    }
}

fn memory(memory: &reported::Memory) -> HostMemory {
    HostMemory {
        physical_bytes: number(memory.physical_bytes),
        usable_bytes: number(memory.usable_bytes),
    }
}

fn disk(disk: &reported::Disk) -> HostDisk {
    HostDisk {
        id: disk.id.clone(),
        drive_type: text(&disk.drive_type),
        vendor: text(&disk.vendor),
        name: text(&disk.name),
        path: text(&disk.path),
        hctl: text(&disk.hctl),
        by_path: text(&disk.by_path),
        by_id: text(&disk.by_id),
        model: text(&disk.model),
        wwn: text(&disk.wwn),
        serial: text(&disk.serial),
        size_bytes: number(disk.size_bytes),
        bootable: yes(disk.bootable),
        smart: text(&disk.smart),
        installation_eligibility: Some(HostInstallationEligibility {
            eligible: yes(disk.installation_eligibility.eligible),
            not_eligible_reasons: disk.installation_eligibility.not_eligible_reasons.clone(),
        }),
        io_perf: Some(HostIoPerf {
            sync_duration_milliseconds: disk.io_perf.as_ref().and_then(|perf| number(perf.sync_duration)),
        }),
    }
}

fn interface(interface: &reported::Interface) -> HostInterface {
    HostInterface {
        name: text(&interface.name),
        mac_address: text(&interface.mac_address),
        ip_v4_addresses: interface.ipv4_addresses.clone(),
        ip_v6_addresses: interface.ipv6_addresses.clone(),
        flags: interface.flags.clone(),
        mtu: number(interface.mtu),
        speed_mbps: number(interface.speed_mbps),
        has_carrier: yes(interface.has_carrier),
        vendor: text(&interface.vendor),
        product: text(&interface.product),
        bios_dev_name: text(&interface.biosdevname),
        client_id: text(&interface.client_id),
    }
}

fn gpu(gpu: &reported::Gpu) -> HostGpu {
    HostGpu {
        address: text(&gpu.address),
        device_id: text(&gpu.device_id),
        name: text(&gpu.name),
        vendor: text(&gpu.vendor),
        vendor_id: text(&gpu.vendor_id),
    }
}

fn vendor(vendor: &reported::SystemVendor) -> HostSystemVendor {
    HostSystemVendor {
        manufacturer: text(&vendor.manufacturer),
        product_name: text(&vendor.product_name),
        serial_number: text(&vendor.serial_number),
        is_virtual: yes(vendor.is_virtual),
    }
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn number(number: i64) -> Option<i64> {
    (number != 0).then_some(number)
}

fn yes(flag: bool) -> Option<bool> {
    flag.then_some(true)
}
