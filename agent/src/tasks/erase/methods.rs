//! The commands with which disks erase themselves.

pub mod ata;
pub mod nvme;
