//! Redfish client: finds a machine by its BMC, boots it from virtual media or by HTTP, reads its inventory
//! (docs/protocol/redfish.md).
//!
//! A [`Client`] connects by rules for addresses, certificates and time; a [`Bmc`] is one conversation. A caller that stores its progress
//! calls [`Bmc::check`], [`Bmc::insert`], [`Bmc::boot`] and, when the agent has registered, [`Bmc::finish`], each with a `Bmc` of its own.
//! [`Client::preflight`] reports beforehand what would fail.

mod bmc;
mod client;
mod connection;
mod deadline;
mod error;
mod inventory;
mod json;
mod limits;
mod machine;
pub mod matching;
mod media;
mod media_url;
mod preflight;
pub mod profile;
mod refusal;
mod text;
mod turns;

pub use bmc::{Bmc, Checked, Inserted, Progress};
pub use client::{Client, Target};
pub use connection::{AddressRules, CertificateMode, Credentials};
pub use error::{AddressError, BmcError};
pub use inventory::{Drive, Firmware, Inventory, Memory, Nic, Processor};
pub use limits::Limits;
pub use machine::boot::{BootFrom, Override};
pub use machine::system::PowerState;
pub use muster_outgoing::{NetworkError, Networks};
pub use muster_trust::Fingerprint;
pub use preflight::{Check, CheckId, Outcome, Preflight};
pub use refusal::{Message, Refusal};
