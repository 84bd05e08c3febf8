//! Defines the inventory that a host reports. Source of every field: docs/protocol/agent-inventory.md.
//!
//! Scalars that are zero are left out; lists are always written (`[]`). Readers accept missing,
//! `null` and `[]` alike. Sizes are bytes, speeds Mbit/s, CPU frequency MHz.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::serialize::{empty_as_null, is_default, null_as_default};

/// Hardware and network of a host. Sent as JSON text inside a step reply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Inventory {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub bmc_address: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub bmc_v6address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<Boot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    #[serde(deserialize_with = "null_as_default")]
    pub disks: Vec<Disk>,
    #[serde(deserialize_with = "null_as_default")]
    pub gpus: Vec<Gpu>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub hostname: String,
    #[serde(deserialize_with = "null_as_default")]
    pub interfaces: Vec<Interface>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    #[serde(deserialize_with = "null_as_default")]
    pub routes: Vec<Route>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_vendor: Option<SystemVendor>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub tpm_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
    /// Unknown values, devices that do not work, errors of the kernel, the panic that ended the previous boot. Additive: agents of the
    /// field do not report them.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub problems: Vec<InventoryProblem>,
}

/// Something that a host found wrong with itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct InventoryProblem {
    /// A field of the inventory (`disks.sda.serial`), `pci.ADDRESS`, `firmware`, `kernel`, `boot.last`, `network.INTERFACE` (it differs
    /// from the static network) or `kernel-argument.ARGUMENT`.
    #[serde(deserialize_with = "null_as_default")]
    pub subject: String,
    #[serde(deserialize_with = "null_as_default")]
    pub reason: String,
}

/// Boot mode and boot device of the running system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Boot {
    /// The whole `/proc/cmdline`, trailing newline included.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub command_line: String,
    /// `uefi` or `bios`.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub current_boot_mode: String,
    /// `persistent` (booted from an installed disk) or `ephemeral` (live image).
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub device_type: String,
    /// The raw text after `BOOTIF=`.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub pxe_interface: String,
    /// `Enabled`, `Disabled`, `NotSupported` or `Unknown`.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub secure_boot_state: String,
}

/// Processors. `count` is logical CPUs (threads).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Cpu {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub architecture: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub count: i64,
    #[serde(serialize_with = "empty_as_null", deserialize_with = "null_as_default")]
    pub flags: Vec<String>,
    /// MHz.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub frequency: f64,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub model_name: String,
}

/// Memory, bytes. `physical_bytes_method` is `dmidecode`, `ghw` or `meminfo`; the tolerance of the memory check depends on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Memory {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub physical_bytes: i64,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub physical_bytes_method: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub usable_bytes: i64,
}

/// A block device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Disk {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub bootable: bool,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub by_id: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub by_path: String,
    /// `HDD SSD ODD FDD Unknown virtual Multipath iSCSI FC LVM RAID ECKD "ECKD (ESE)" FBA`.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub drive_type: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub has_uuid: bool,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub hctl: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub holders: String,
    /// The key that users, the service and the install step use: `by_id`, otherwise `by_path`, otherwise `path`.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub id: String,
    #[serde(deserialize_with = "null_as_default")]
    pub installation_eligibility: Eligibility,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_perf: Option<IoPerf>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub is_installation_media: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iscsi: Option<Iscsi>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub model: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub name: String,
    /// Device nodes of all paths to it, where there are several. Only our agents report them: others list each path as a disk.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub paths: Vec<String>,
    #[serde(
        rename = "partitionTypes",
        skip_serializing_if = "is_default",
        deserialize_with = "null_as_default"
    )]
    pub partition_types: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub path: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub removable: bool,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub serial: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub size_bytes: i64,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub smart: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub vendor: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub wwn: String,
}

impl Disk {
    /// The place of a disk among those that can be installed to, the smallest first: bootable first, NVMe last, then by type, size and
    /// HCTL.
    pub fn installation_order(&self) -> (bool, bool, &str, i64, &str) {
        (
            !self.bootable,
            self.name.starts_with("nvme"),
            &self.drive_type,
            self.size_bytes,
            &self.hctl,
        )
    }
}

/// Eligibility of a disk for the installation, with reasons against it. An empty list of reasons is written as `null`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Eligibility {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub eligible: bool,
    #[serde(serialize_with = "empty_as_null", deserialize_with = "null_as_default")]
    pub not_eligible_reasons: Vec<String>,
}

/// Set by the service from the disk-speed step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct IoPerf {
    /// 99th percentile of a synchronous write, milliseconds.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub sync_duration: i64,
}

/// The initiator's side of an iSCSI disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Iscsi {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub host_ip_address: String,
}

/// A network interface, `lo` included. Addresses carry their prefix length (`192.0.2.1/24`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Interface {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub biosdevname: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub client_id: String,
    #[serde(deserialize_with = "null_as_default")]
    pub flags: Vec<String>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub has_carrier: bool,
    #[serde(deserialize_with = "null_as_default")]
    pub ipv4_addresses: Vec<String>,
    #[serde(deserialize_with = "null_as_default")]
    pub ipv6_addresses: Vec<String>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub mac_address: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub mtu: i64,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub name: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub product: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub speed_mbps: i64,
    /// `physical`, `bond`, `vlan`, `bridge`, `device`, ...
    #[serde(
        rename = "type",
        skip_serializing_if = "is_default",
        deserialize_with = "null_as_default"
    )]
    pub kind: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub vendor: String,
    /// The switch port at the other end of the cable. Additive: agents of the field do not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_port: Option<SwitchPort>,
}

/// The port of a switch, as the switch reports itself by LLDP (IEEE 802.1AB).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct SwitchPort {
    /// The name of the switch, otherwise its address.
    #[serde(deserialize_with = "null_as_default")]
    pub switch: String,
    /// As the switch calls it, e.g. `Gi1/0/12`.
    #[serde(deserialize_with = "null_as_default")]
    pub port: String,
    /// The VLAN of untagged frames; 0: not reported.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub native_vlan: u16,
    /// VLANs of tagged frames, in order; empty: none is reported.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub tagged_vlans: Vec<u16>,
    /// VLANs that the host is configured to use on this port, and that the switch does not report.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub missing_vlans: Vec<u16>,
}

impl fmt::Display for SwitchPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "switch {} port {}", self.switch, self.port)?;
        if self.native_vlan != 0 {
            write!(f, ", native VLAN {}", self.native_vlan)?;
        }
        for (label, vlans) in [
            ("tagged", &self.tagged_vlans),
            ("without VLAN", &self.missing_vlans),
        ] {
            if !vlans.is_empty() {
                let vlans: Vec<String> = vlans.iter().map(u16::to_string).collect();
                write!(f, ", {label} {}", vlans.join(", "))?;
            }
        }
        Ok(())
    }
}

/// A route of the main table. `destination` is a bare address; `family` is 2 (IPv4) or 10 (IPv6).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Route {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub destination: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub family: i32,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub gateway: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub interface: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub metric: i32,
}

/// A display or accelerator device on PCI.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Gpu {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub address: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub device_id: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub name: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub vendor: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub vendor_id: String,
}

/// Manufacturer and model of the machine, from SMBIOS.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct SystemVendor {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub manufacturer: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub product_name: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub serial_number: String,
    #[serde(
        rename = "virtual",
        skip_serializing_if = "is_default",
        deserialize_with = "null_as_default"
    )]
    pub is_virtual: bool,
}

/// Sent by an agent that had to leave parts out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Truncation {
    /// `partial` or `full`.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub kind: String,
    #[serde(deserialize_with = "null_as_default")]
    pub reasons: Vec<String>,
}
