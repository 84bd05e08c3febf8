//! The system behind a BMC and its managers: found, viewed, switched, set to boot from an image.

pub mod boot;
pub mod find;
pub mod power;
pub mod system;
