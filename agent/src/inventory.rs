//! Collects a host's inventory from sysfs, procfs, netlink, SMBIOS and a few ioctls; runs no program. Source
//! of every rule: docs/protocol/agent-inventory.md.
//!
//! A probe that fails leaves its field empty, adds a reason to [`Collected::problems`], and affects nothing
//! else. The result does not change while the machine does not: the session sends an inventory only when its
//! text changes.
//!
//! Differences from upstream's agent, on purpose:
//! - mounted partitions, a mounted whole disk, and a disk with a Muster live image on it are not eligible
//!   (upstream cannot see mounts in production);
//! - one PCI device that cannot be read does not empty the list of GPUs;
//! - without SMBIOS and memory blocks the method is `meminfo`, for which the service is more lenient;
//! - a host whose kernel name was never set is named by its MAC address, as one named `localhost` is;
//! - UEFI without a readable efivarfs reports Secure Boot as `Unknown`, not `NotSupported`.

mod bmc;
mod boot;
#[cfg(test)]
mod captured;
mod collect;
mod cpu;
pub(crate) mod disks;
mod gpus;
mod hostname;
mod interfaces;
mod memory;
mod mounts;
pub(crate) mod netlink;
mod network;
mod pci_ids;
mod problems;
mod routes;
mod smbios;
mod system_vendor;
mod tpm;
pub mod trouble;

pub use collect::{Collected, Options, collect, listed_disks};
pub use network::interfaces;
pub(crate) use network::network_state;
pub use problems::Problem;
pub(crate) use problems::Problems;
