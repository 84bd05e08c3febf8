//! Reads a machine's parts from its BMC (docs/protocol/redfish.md#5).

mod parts;
mod walk;

use serde::{Deserialize, Serialize};

pub(crate) use walk::read;

/// A machine as its BMC reports it. All of it is a claim: a BMC may be wrong, or lie. Missing data was not reported.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Inventory {
    pub vendor: Option<String>,
    pub model: Option<String>,
    /// The machine's serial number, from where this vendor keeps it.
    pub serial: Option<String>,
    pub sku: Option<String>,
    /// Further serial numbers: of the board and of the chassis, which machines may share.
    pub other_serials: Vec<String>,
    pub uuid: Option<String>,
    pub asset_tag: Option<String>,
    pub host_name: Option<String>,
    /// Without GPUs and the like.
    pub processors: Vec<Processor>,
    pub memory: Memory,
    /// Except the interface that leads to the BMC itself.
    pub nics: Vec<Nic>,
    pub drives: Vec<Drive>,
    pub bios_version: Option<String>,
    pub bmc_version: Option<String>,
    pub firmware: Vec<Firmware>,
    /// `UEFI` or `Legacy`: the setting of the next boot.
    pub boot_mode: Option<String>,
    pub secure_boot: Option<bool>,
    /// `OK`, `Warning` or `Critical`, of all parts together.
    pub health: Option<String>,
    pub power: Option<String>,
    /// Parts that could not be read, and the reasons.
    pub notes: Vec<String>,
}

/// A processor socket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processor {
    pub model: Option<String>,
    pub cores: Option<u32>,
    pub threads: Option<u32>,
    /// `x86-64`, `ARM-A64` and the like.
    pub instruction_set: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Missing also while the machine has not been started since it was changed. Some BMCs count in units of 10^9 bytes.
    pub gib: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Nic {
    pub name: String,
    /// `aa:bb:cc:dd:ee:ff`.
    pub mac: String,
    /// The burnt-in address, if it is another one.
    pub permanent_mac: Option<String>,
    pub speed_mbps: Option<u32>,
    /// `LinkUp`, `LinkDown`, `NoLink`.
    pub link: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Drive {
    pub name: String,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub bytes: Option<u64>,
    /// `HDD` or `SSD`.
    pub media: Option<String>,
    /// `SATA`, `SAS`, `NVMe` and the like.
    pub protocol: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Firmware {
    pub name: String,
    pub version: String,
}
