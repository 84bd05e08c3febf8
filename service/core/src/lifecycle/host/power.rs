//! Boots and sleep of machines: by their BMC, from media, at request.

pub mod bmc_boot;
pub mod media;
pub mod reboot;
pub mod sleep;
