//! The step handlers, one file each.

pub mod disk_speed;
pub mod free_addresses;
pub mod images;
pub mod vips;
