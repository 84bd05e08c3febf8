//! Chooses the kernel's modules and firmware.

pub mod drivers;
pub mod firmware;
pub mod modinfo;
pub mod modules;
