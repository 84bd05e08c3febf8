//! A machine under QEMU behind the lab's BMC (`muster_bmc_emulator`): one process each time that it has power, its drive filled from
//! a URL while it runs, one boot from that drive.
//!
//! The QMP commands: docs/protocol/redfish.md#1.5.

mod drive;
mod machine;
mod qmp;

pub use machine::BmcMachine;
