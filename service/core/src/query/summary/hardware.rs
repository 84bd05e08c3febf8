//! Summarizes the hardware and the network of a host by its inventory.

use std::collections::BTreeSet;

use muster_api::inventory::{Disk, Gpu, Interface, Inventory};
use muster_api::placeholder::named;
use muster_api::search::{HostGpus, HostSwitchPort};
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::{MAX_LIST, distinct, is_default, short};
use crate::rules::addresses::networks_of;
use crate::rules::disks::own_disks;

/// Hardware and network of a host. It follows from the inventory alone, so it can be stored with that. Zero, `None` and empty texts mean
/// that the value is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HardwareSummary {
    #[serde(skip_serializing_if = "is_default")]
    pub vendor: String,
    #[serde(skip_serializing_if = "is_default")]
    pub model: String,
    /// Of the machine.
    #[serde(skip_serializing_if = "is_default")]
    pub serial: String,
    #[serde(skip_serializing_if = "is_default")]
    pub cpu_threads: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub memory_bytes: u64,
    /// Without CD drives, the discovery image, and devices that are made of other disks or are a second path to one.
    #[serde(skip_serializing_if = "is_default")]
    pub disks: Vec<DiskSummary>,
    /// By model; without the displays of management controllers and virtual machines.
    #[serde(skip_serializing_if = "is_default")]
    pub gpus: Vec<HostGpus>,
    /// Of the fastest network card, Mbit/s; links without a cable report none.
    #[serde(skip_serializing_if = "is_default")]
    pub nic_speed_mbps: u32,
    /// In lower case with colons.
    #[serde(skip_serializing_if = "is_default")]
    pub macs: Vec<String>,
    /// Addresses that other machines reach, without prefix lengths.
    #[serde(skip_serializing_if = "is_default")]
    pub ips: Vec<String>,
    /// Switch ports at the other ends of its cables, by LLDP.
    #[serde(skip_serializing_if = "is_default")]
    pub ports: Vec<HostSwitchPort>,
    /// VLANs of these ports, tagged and native, sorted.
    #[serde(skip_serializing_if = "is_default")]
    pub vlans: Vec<u16>,
    /// Address of its management controller, as the machine itself reports it.
    #[serde(skip_serializing_if = "is_default")]
    pub bmc_address: String,
    #[serde(skip_serializing_if = "is_default")]
    pub firmware: Option<Firmware>,
    #[serde(skip_serializing_if = "is_default")]
    pub secure_boot: Option<bool>,
}

/// A disk of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSummary {
    pub bytes: u64,
    #[serde(default, rename = "type", skip_serializing_if = "is_default")]
    pub drive_type: DriveType,
    #[serde(default, skip_serializing_if = "is_default")]
    pub serial: String,
}

/// Types of drives that a machine has itself. Source: docs/protocol/agent-inventory.md#7.3.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", ascii_case_insensitive)]
pub enum DriveType {
    Hdd,
    Ssd,
    Multipath,
    Iscsi,
    Fc,
    Eckd,
    #[serde(rename = "eckd (ese)")]
    #[strum(serialize = "eckd (ese)")]
    EckdEse,
    Fba,
    Virtual,
    #[default]
    Unknown,
}

impl DriveType {
    /// The name in the inventory, in lower case.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The firmware interface that the running system was booted by.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", ascii_case_insensitive)]
pub enum Firmware {
    Bios,
    Uefi,
}

impl Firmware {
    /// `bios` or `uefi`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// PCI vendors of display devices that compute nothing: management controllers (ASPEED, Matrox, Silicon Motion, XGI) and virtual machines
/// (Bochs, Cirrus, Hyper-V, QXL, virtio, VMware, VirtualBox).
const DISPLAYS: [&str; 11] = [
    "1a03", "102b", "126f", "18ca", "1234", "1013", "1414", "1b36", "1af4", "15ad", "80ee",
];

/// Highest id of a VLAN. Source: IEEE 802.1Q.
const MAX_VLAN: u16 = 4094;

impl HardwareSummary {
    /// Number of the present fields and rules: a stored summary with another one is made again.
    pub const FORM: u32 = 1;

    /// Derives the summary from an inventory.
    pub fn of(inventory: &Inventory) -> Self {
        let vendor = inventory.system_vendor.as_ref();
        let name = |text: Option<&String>| text.and_then(|text| named(text)).map(short).unwrap_or_default();
        let cards = &inventory.interfaces;
        Self {
            vendor: name(vendor.map(|vendor| &vendor.manufacturer)),
            model: name(vendor.map(|vendor| &vendor.product_name)),
            serial: name(vendor.map(|vendor| &vendor.serial_number)),
            cpu_threads: inventory.cpu.as_ref().map_or(0, |cpu| small(cpu.count)),
            memory_bytes: inventory
                .memory
                .as_ref()
                .map_or(0, |memory| positive(memory.physical_bytes)),
            disks: own_disks(&inventory.disks).take(MAX_LIST).map(disk).collect(),
            gpus: gpus(&inventory.gpus),
            nic_speed_mbps: nic_speed(cards),
            macs: distinct(cards.iter().filter_map(mac)),
            ips: distinct(
                cards
                    .iter()
                    .flat_map(networks_of)
                    .map(|net| net.addr().to_string()),
            ),
            ports: ports(cards),
            vlans: vlans(cards),
            bmc_address: bmc_address(inventory),
            firmware: inventory
                .boot
                .as_ref()
                .and_then(|boot| boot.current_boot_mode.parse().ok()),
            secure_boot: secure_boot(inventory),
        }
    }

    /// Sum of its disks, bytes.
    pub fn disk_bytes(&self) -> u64 {
        self.disks
            .iter()
            .fold(0, |sum, disk| sum.saturating_add(disk.bytes))
    }

    /// Number of its GPUs.
    pub fn gpu_count(&self) -> u64 {
        self.gpus.iter().map(|gpu| u64::from(gpu.count)).sum()
    }
}

fn positive(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn small(number: i64) -> u32 {
    u32::try_from(positive(number)).unwrap_or(u32::MAX)
}

fn disk(disk: &Disk) -> DiskSummary {
    DiskSummary {
        bytes: positive(disk.size_bytes),
        drive_type: disk.drive_type.parse().unwrap_or_default(),
        serial: named(&disk.serial).map(short).unwrap_or_default(),
    }
}

fn gpus(all: &[Gpu]) -> Vec<HostGpus> {
    let mut found: Vec<HostGpus> = Vec::new();
    let computing = all
        .iter()
        .filter(|gpu| !DISPLAYS.contains(&gpu.vendor_id.to_lowercase().as_str()));
    for model in computing.map(gpu_model) {
        if let Some(known) = found.iter_mut().find(|known| known.model == model) {
            known.count += 1;
        } else if found.len() < MAX_LIST {
            found.push(HostGpus { model, count: 1 });
        }
    }
    found
}

/// Vendor and name; the ids of PCI for a device that is in no list of names.
fn gpu_model(gpu: &Gpu) -> String {
    match (named(&gpu.vendor), named(&gpu.name)) {
        (Some(vendor), Some(name)) => short(&format!("{vendor} {name}")),
        (None, Some(name)) => short(name),
        (_, None) => short(&format!("{}:{}", gpu.vendor_id, gpu.device_id)),
    }
}

fn nic_speed(cards: &[Interface]) -> u32 {
    let physical = cards.iter().filter(|card| card.kind == "physical");
    physical
        .map(|card| small(card.speed_mbps))
        .max()
        .unwrap_or_default()
}

fn mac(card: &Interface) -> Option<String> {
    named(&card.mac_address).map(|mac| short(mac).to_ascii_lowercase())
}

fn ports(cards: &[Interface]) -> Vec<HostSwitchPort> {
    let told = cards.iter().filter_map(|card| card.switch_port.as_ref());
    let ports = told.map(|told| HostSwitchPort {
        switch: short(&told.switch),
        port: short(&told.port),
    });
    distinct(ports.filter(|port| !port.switch.is_empty() || !port.port.is_empty()))
}

fn vlans(cards: &[Interface]) -> Vec<u16> {
    let told = cards.iter().filter_map(|card| card.switch_port.as_ref());
    let ids = told.flat_map(|told| told.tagged_vlans.iter().chain([&told.native_vlan]));
    let ids: BTreeSet<u16> = ids.copied().filter(|id| (1..=MAX_VLAN).contains(id)).collect();
    ids.into_iter().collect()
}

/// Machines without a BMC report `0.0.0.0` and `::/0`.
fn bmc_address(inventory: &Inventory) -> String {
    let addresses = [&inventory.bmc_address, &inventory.bmc_v6address];
    let real = |address: &&&String| named(address).is_some() && !address.starts_with("::/");
    addresses
        .iter()
        .find(real)
        .map(|address| short(address))
        .unwrap_or_default()
}

fn secure_boot(inventory: &Inventory) -> Option<bool> {
    match inventory.boot.as_ref()?.secure_boot_state.as_str() {
        "Enabled" => Some(true),
        "Disabled" | "NotSupported" => Some(false),
        _ => None,
    }
}
