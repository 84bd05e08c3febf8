//! Machines under QEMU: chosen firmware, media, disks, network cards, SMBIOS strings; the serial console
//! captured.
//!
//! Recipes and times: docs/protocol/boot-lab.md. Software emulation unless a probe finds a KVM that boots
//! guests ([`accel`]).

mod accel;
mod architecture;
pub mod coreos;
mod devices;
mod firmware;
pub mod initramfs;
mod machine;
mod qmp;
mod running;
mod slots;

pub use accel::Accel;
pub use architecture::Architecture;
pub use devices::{Disk, DiskBus, GIB, Medium, Nic, USER_NETWORK_HOST, UserNet};
pub use firmware::Firmware;
pub use machine::{MACHINE_LIMIT, Machine};
pub(crate) use qmp::Qmp;
pub use running::Running;
pub use slots::Slots;
