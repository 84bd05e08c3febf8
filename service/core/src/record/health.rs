//! The health of a machine, and the size and parts of its hardware, as they are kept with a host.

use std::collections::BTreeMap;

use muster_api::steps::HealthReport;
use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The last report of the sensors of a host, with the worst of its day. Bounded: see [`crate::rules::health`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Time of the last report that differed from the one before.
    pub at: Timestamp,
    pub last: HealthReport,
    pub worst: WorstOfDay,
    /// The latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<HealthHour>,
}

/// The worst values of the day of the last report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorstOfDay {
    /// Days since 1970, UTC.
    pub day: i64,
    /// Of the hottest sensor, °C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius: Option<i16>,
    #[serde(default)]
    pub load_percent: u32,
    #[serde(default)]
    pub memory_percent: u8,
}

/// The highest values of an hour. Stored as a list of three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(i64, Option<i16>, u32)", into = "(i64, Option<i16>, u32)")]
pub struct HealthHour {
    /// Hours since 1970.
    pub hour: i64,
    /// Of the hottest sensor, °C.
    pub celsius: Option<i16>,
    pub load_percent: u32,
}

impl From<(i64, Option<i16>, u32)> for HealthHour {
    fn from((hour, celsius, load_percent): (i64, Option<i16>, u32)) -> Self {
        Self {
            hour,
            celsius,
            load_percent,
        }
    }
}

impl From<HealthHour> for (i64, Option<i16>, u32) {
    fn from(hour: HealthHour) -> Self {
        (hour.hour, hour.celsius, hour.load_percent)
    }
}

/// The size of a machine's hardware. Zero: not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HardwareSize {
    pub cpu_threads: i64,
    pub memory_bytes: i64,
    /// The way in which memory was measured: sizes of different ways are not compared.
    pub memory_by: MemoryBy,
    /// Disks of the machine itself, without removable ones; `None`: the inventory had to leave some out.
    pub disks: Option<u32>,
    /// Physical network cards.
    pub cards: u32,
}

/// The parts of a machine, as far as they are compared with those of a later inventory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HardwareParts {
    pub size: HardwareSize,
    /// By world-wide name or serial number; `None`: there are too many, or not all are listed.
    pub disks: Option<BTreeMap<String, HardwarePart>>,
    /// By MAC address; `None`: there are too many, or some report the address of another.
    pub cards: Option<BTreeMap<String, HardwarePart>>,
}

/// A part of a machine that a name of its own identifies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HardwarePart {
    /// Its place in the machine: a part in the place of another has replaced that.
    pub place: String,
    /// For users.
    pub shown: String,
}

/// The source of the size of a memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryBy {
    #[default]
    Unknown,
    /// The modules that the firmware lists: exact.
    Modules,
    /// Blocks of memory that the kernel has.
    Blocks,
    /// The kernel's own total, which is smaller than the modules and differs between kernels.
    Kernel,
}
