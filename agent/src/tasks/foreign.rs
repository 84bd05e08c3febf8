//! Steps that only other services send; Muster's own service never does (`service/core`, `instructions/arguments.rs`).
//!
//! An assisted-service sends them while it installs a new cluster, which Muster does not do: whether registries have
//! the images of an installation, which addresses of a network are free, whether the VIPs of a cluster are free, and
//! how fast a disk writes. This agent keeps working with such a service, so they stay.

pub mod disk_speed;
pub mod free_addresses;
pub mod registry;
pub mod steps;
pub mod vips;
