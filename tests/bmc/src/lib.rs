//! A Redfish BMC for tests.
//!
//! ```text not run: a drawing
//! emulator ► server ► respond (faults, record) ► service (gate, sessions) ► resources (GET) ─┐
//!                                                                └► changes (POST, PATCH) ───┴► bmc ► machine
//! ```
//!
//! [`Quirks`] are the BMC's differences from the standard, [`Fault`]s are those of the transport, and a [`Machine`] is
//! behind it: [`InMemory`] here, or one under QEMU (`muster_tests::bmc`). Owner and client are in one process; the
//! owner's calls do not block on the network, so async tests may use them.

mod answer;
mod bmc;
mod boot;
mod call;
mod certificate;
mod changes;
mod emulator;
mod etag;
mod faults;
mod image;
pub mod machine;
mod media;
mod memory;
mod problem;
pub mod quirks;
mod record;
mod resources;
mod respond;
mod server;
mod service;
mod sessions;
mod shared;
mod tasks;

use std::time::Duration;

pub use boot::Override;
pub use certificate::Certificate;
pub use emulator::{Emulator, Setup};
pub use faults::{Fault, FaultKind};
pub use machine::{Failure, Hardware, Machine};
pub use memory::{Booted, InMemory};
pub use quirks::Quirks;
pub use record::Recorded;

/// Time limit of reading an image.
const TIMEOUT: Duration = Duration::from_secs(30);
