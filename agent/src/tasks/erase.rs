//! Erases disks of a host that left a cluster: all sectors, by the fastest way that the disk has, or tables and the places of keys.
//! docs/erasing.md has the rules.

pub mod commands;
pub mod device;
mod discard;
pub mod erasures;
pub mod error;
mod full;
pub mod keys;
mod mark;
mod matching;
pub mod metadata;
pub mod methods;
mod overwrite;
mod plan;
#[cfg(test)]
mod played;
pub mod progress;
mod tasks;

pub use full::Erased;
pub use tasks::{by_name, of_machine};
