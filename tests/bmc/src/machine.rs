//! The machine behind a BMC, as the BMC sees it.

use thiserror::Error;
use uuid::Uuid;

/// A machine that a BMC controls. Calls may block: they are made in a thread of their own, one at a time.
pub trait Machine: Send + Sync + 'static {
    /// Its components.
    fn hardware(&self) -> Hardware;

    /// True while it has power.
    fn is_on(&self) -> bool;

    /// The progress of its boot, as far as the BMC can know.
    fn progress(&self) -> Progress;

    /// Powers it on; it boots `first` before the preferred devices of its firmware.
    ///
    /// # Errors
    /// If it does not start.
    fn power_on(&self, first: Option<First>) -> Result<(), Failure>;

    /// Cuts its power.
    ///
    /// # Errors
    /// If it is still on.
    fn power_off(&self) -> Result<(), Failure>;

    /// Resets it, like its button; it boots `first` before the preferred devices of its firmware.
    ///
    /// # Errors
    /// If it keeps running.
    fn reset(&self, first: Option<First>) -> Result<(), Failure>;

    /// Presses its power button for a moment: its system may switch it off, or not.
    ///
    /// # Errors
    /// If it has no such button.
    fn press_power_button(&self) -> Result<(), Failure>;

    /// Inserts the image at that URL into its virtual drive, in place of a present one.
    ///
    /// # Errors
    /// If the image cannot be read.
    fn insert(&self, url: &str) -> Result<(), Failure>;

    /// Empties its virtual drive.
    ///
    /// # Errors
    /// If the image is still there.
    fn eject(&self) -> Result<(), Failure>;
}

/// The reason why a machine refused, or failed to execute, a request of its BMC: a sentence.
#[derive(Debug, Clone, Error)]
#[error("{0}")]
pub struct Failure(pub String);

/// The device that a boot tries first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct First {
    pub device: BootDevice,
    /// True if boots that the BMC does not start, such as a restart of the system, try it first, too.
    pub lasts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootDevice {
    /// The virtual drive.
    VirtualDrive,
    Disk,
    Network,
    /// The firmware's setup.
    Setup,
}

/// Steps of a boot, as `BootProgress.LastState` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It is off.
    None,
    /// The firmware is busy.
    SystemHardwareInitializationComplete,
    /// The firmware has handed over.
    OSBootStarted,
    OSRunning,
}

impl Progress {
    /// The value of `BootProgress.LastState`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::SystemHardwareInitializationComplete => "SystemHardwareInitializationComplete",
            Self::OSBootStarted => "OSBootStarted",
            Self::OSRunning => "OSRunning",
        }
    }
}

/// The hardware in a BMC's report.
#[derive(Debug, Clone, PartialEq)]
pub struct Hardware {
    pub uuid: Uuid,
    /// The serial number of the machine, as its SMBIOS tables have it.
    pub serial: String,
    /// Network cards' MAC addresses, lower case with colons.
    pub macs: Vec<String>,
    pub processor: Processor,
    /// Sockets.
    pub processors: u32,
    pub memory_gib: u32,
    pub drives: Vec<Drive>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Processor {
    pub model: String,
    pub cores: u32,
    pub threads: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Drive {
    pub serial: String,
    pub model: String,
    pub bytes: u64,
    /// `SATA`, `NVMe`, `SAS`.
    pub protocol: String,
}

impl Hardware {
    /// A machine of one socket with two cores, 8 GiB, two network cards and a disk; numbers distinguish machines.
    pub fn example(number: u8) -> Self {
        Self {
            uuid: Uuid::from_u128(0x3000_0000_0000_4000_8000_0000_0000_0000 | u128::from(number)),
            serial: format!("SN{number:04}"),
            macs: (1..=2)
                .map(|card| format!("d0:94:66:00:{number:02x}:{card:02x}"))
                .collect(),
            processor: Processor {
                model: "Example CPU 2.0GHz".to_owned(),
                cores: 2,
                threads: 4,
            },
            processors: 1,
            memory_gib: 8,
            drives: vec![Drive {
                serial: format!("DISK{number:04}"),
                model: "Example SSD".to_owned(),
                bytes: 480 << 30,
                protocol: "SATA".to_owned(),
            }],
        }
    }
}
