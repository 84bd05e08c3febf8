//! Chooses the kernel's modules and firmware.

pub mod answer;
pub mod compressed;
pub mod drivers;
pub mod firmware;
pub mod modinfo;
pub mod modules;
pub mod reach;
