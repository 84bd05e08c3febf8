//! What a host reports of itself, found natively: sysfs, procfs, netlink, SMBIOS, a few ioctls; no program is run.
//! Source of every rule: docs/protocol/agent-inventory.md.
//!
//! A probe that fails leaves its field empty, says why in [`Collected::problems`], and costs nothing else. The
//! result is the same as long as the machine is: the session sends an inventory only when its text changes.
//!
//! Where this differs from the field's agent, on purpose:
//! - mounted partitions, a mounted whole disk, and a disk with a Muster live image on it are not eligible (theirs
//!   cannot see mounts in production);
//! - one PCI device that cannot be read does not empty the list of GPUs;
//! - where neither SMBIOS nor memory blocks tell, the method is `meminfo`, to which the service is more lenient;
//! - a host whose kernel name was never set is named by its MAC address, as one named `localhost` is;
//! - UEFI without a readable efivarfs says `Unknown`, not `NotSupported`, of Secure Boot.

mod bmc;
mod boot;
mod collect;
mod cpu;
pub(crate) mod disks;
mod gpus;
mod hostname;
mod interfaces;
mod memory;
mod mounts;
mod netlink;
mod network;
mod pci_ids;
mod problems;
mod routes;
mod smbios;
mod system_vendor;
mod tpm;

pub use collect::{Collected, Options, collect};
pub use network::interfaces;
pub(crate) use network::network_state;
pub use problems::Problem;
pub(crate) use problems::Problems;
