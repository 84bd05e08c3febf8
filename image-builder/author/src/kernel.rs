//! The kernel's side of the image: which modules and firmware come along.

pub mod drivers;
pub mod firmware;
pub mod modinfo;
pub mod modules;
