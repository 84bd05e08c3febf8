//! Prepares the first boot of the installed system: its ignition and kernel arguments on the boot partition, the firmware's
//! boot entry, and the battery-backed clock.

pub mod config;
pub mod efi;
pub mod entries;
pub mod esp;
pub mod firmware;
pub mod load_option;
pub mod mounted;
pub mod partition;
