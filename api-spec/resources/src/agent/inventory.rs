//! Types of a host's inventory as Agents show it. Source of the values: docs/protocol/agent-inventory.md.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hardware and network of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostInventory {
    /// Name that the host has at present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// IPv4 address of the management controller; `0.0.0.0` when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bmc_address: Option<String>,
    /// IPv6 address of the management controller with its prefix length; `::/0` when there is none.
    #[serde(rename = "bmcV6Address", skip_serializing_if = "Option::is_none")]
    pub bmc_v6_address: Option<String>,
    /// Boot mode and boot device of the running system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<HostBoot>,
    /// Processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<HostCpu>,
    /// Memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<HostMemory>,
    /// Block devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<HostDisk>,
    /// Network interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<HostInterface>,
    /// Graphics processors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<HostGpu>,
    /// Manufacturer and model of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_vendor: Option<HostSystemVendor>,
    /// Time at which the host sent this report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_time: Option<Time>,
}

/// Boot mode and boot device of the running system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostBoot {
    /// `uefi` or `bios`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_boot_mode: Option<String>,
    /// `persistent` when booted from an installed disk, `ephemeral` from an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_type: Option<String>,
    /// The interface that the machine booted from, as its firmware reported to the kernel (`BOOTIF`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pxe_interface: Option<String>,
}

/// Processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostCpu {
    /// Number of logical processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// Speed in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_megahertz: Option<i64>,
    /// Features of the processors, by the kernel's names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Model name that the processor reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// Architecture, such as `x86_64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
}

/// Memory, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostMemory {
    /// Installed memory, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_bytes: Option<i64>,
    /// Memory that the running system can use, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable_bytes: Option<i64>,
}

/// A block device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostDisk {
    /// Value for `installation_disk_id`: `byID`, or `byPath`, or `path`, whichever is known first.
    pub id: String,
    /// Kind of device: `HDD`, `SSD`, `Multipath`, `iSCSI`, `FC`, `RAID`, `virtual` and others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive_type: Option<String>,
    /// Manufacturer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Name of the kernel, such as `sda`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Path of the device, such as `/dev/sda`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Address on the SCSI bus: host, channel, target, unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hctl: Option<String>,
    /// Path by the place where the device is plugged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_path: Option<String>,
    /// Path by the identity of the device, wherever it is plugged in.
    #[serde(rename = "byID", skip_serializing_if = "Option::is_none")]
    pub by_id: Option<String>,
    /// Model that the device reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// World-wide name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// Serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<i64>,
    /// True when the disk has a boot record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootable: Option<bool>,
    /// Health data of the device (SMART), as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smart: Option<String>,
    /// Eligibility for the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installation_eligibility: Option<HostInstallationEligibility>,
    /// Result of the last speed measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_perf: Option<HostIoPerf>,
}

/// Eligibility of a disk for the installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostInstallationEligibility {
    /// True when the disk can be installed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eligible: Option<bool>,
    /// Reasons against it, one sentence each.
    pub not_eligible_reasons: Vec<String>,
}

/// Result of a speed measurement of a disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostIoPerf {
    /// Milliseconds within which 99 of 100 synchronous writes are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_duration_milliseconds: Option<i64>,
}

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostInterface {
    /// Name, such as `eth0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// MAC address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
    /// IPv4 addresses, each with its prefix length.
    #[serde(rename = "ipV4Addresses")]
    pub ip_v4_addresses: Vec<String>,
    /// IPv6 addresses, each with its prefix length.
    #[serde(rename = "ipV6Addresses")]
    pub ip_v6_addresses: Vec<String>,
    /// Flags, such as `up` and `broadcast`.
    pub flags: Vec<String>,
    /// Largest packet, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<i64>,
    /// Speed in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<i64>,
    /// True when a cable is plugged in at both ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_carrier: Option<bool>,
    /// Vendor, as a PCI id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Product, as a PCI id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Name that the firmware gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bios_dev_name: Option<String>,
    /// Id that the interface shows to DHCP servers.
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

/// A graphics processor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostGpu {
    /// Address on the PCI bus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Product, as a PCI id.
    #[serde(rename = "deviceID", skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// Name of the product.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Vendor, as a PCI id.
    #[serde(rename = "vendorID", skip_serializing_if = "Option::is_none")]
    pub vendor_id: Option<String>,
}

/// Manufacturer and model of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostSystemVendor {
    /// Maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manufacturer: Option<String>,
    /// Model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_name: Option<String>,
    /// Serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// True for a virtual machine.
    #[serde(rename = "virtual", skip_serializing_if = "Option::is_none")]
    pub is_virtual: Option<bool>,
}
