//! What a host reports of itself, as Agents show it. Source of the values: docs/protocol/agent-inventory.md.

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
    /// How the running system was booted.
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
    /// Who made the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_vendor: Option<HostSystemVendor>,
    /// When the host sent this report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_time: Option<Time>,
}

/// How the running system was booted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostBoot {
    /// `uefi` or `bios`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_boot_mode: Option<String>,
    /// `persistent` when booted from an installed disk, `ephemeral` from an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_type: Option<String>,
    /// The interface that the machine booted from, as its firmware told the kernel (`BOOTIF`).
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
    /// What the processors can do, in the kernel's names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// What the processor calls itself.
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
    /// What is built in, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_bytes: Option<i64>,
    /// What the running system can use, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable_bytes: Option<i64>,
}

/// A block device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostDisk {
    /// What to write into `installation_disk_id`: `byID`, or `byPath`, or `path`, whichever is known.
    pub id: String,
    /// Kind of device: `HDD`, `SSD`, `Multipath`, `iSCSI`, `FC`, `RAID`, `virtual` and others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive_type: Option<String>,
    /// Who made it.
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
    /// Path that tells where the device is plugged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_path: Option<String>,
    /// Path that tells which device it is, wherever it is plugged in.
    #[serde(rename = "byID", skip_serializing_if = "Option::is_none")]
    pub by_id: Option<String>,
    /// Model, as the device tells it.
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
    /// Whether there is a boot record on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootable: Option<bool>,
    /// What the device tells of its health (SMART), as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smart: Option<String>,
    /// Whether it can be installed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installation_eligibility: Option<HostInstallationEligibility>,
    /// How fast it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_perf: Option<HostIoPerf>,
}

/// Whether a disk can be installed to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostInstallationEligibility {
    /// Whether it can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eligible: Option<bool>,
    /// Why not, a sentence each.
    pub not_eligible_reasons: Vec<String>,
}

/// How fast a disk is.
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
    /// Whether a cable is plugged in at both ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_carrier: Option<bool>,
    /// Who made it, as a PCI id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Which product it is, as a PCI id.
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
    /// Which product it is, as a PCI id.
    #[serde(rename = "deviceID", skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// Name of the product.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Who made it, as a PCI id.
    #[serde(rename = "vendorID", skip_serializing_if = "Option::is_none")]
    pub vendor_id: Option<String>,
}

/// Who made the machine.
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
    /// Whether it is a virtual machine.
    #[serde(rename = "virtual", skip_serializing_if = "Option::is_none")]
    pub is_virtual: Option<bool>,
}
