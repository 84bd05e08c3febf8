//! Machines behind the lab's BMC (`muster_bmc_emulator`).
//!
//! [`BmcMachine`] runs under QEMU: one process for each time that it has power, a drive that is filled from a URL while
//! it runs, one boot from that drive. The QMP commands: docs/protocol/redfish.md#1.5. [`SimulatedMachine`] boots an
//! agent of `muster_fleet`; a [`Rack`] has many.

mod drive;
mod import;
mod machine;
mod rack;
mod simulated;
pub mod sushy;
pub mod walk;

pub use import::{import, import_table, line};
pub use machine::BmcMachine;
pub use rack::{Rack, Unit};
pub use simulated::{Reading, SimulatedMachine, bmc_of};
