//! The only writer of hosts: each change is loaded, decided in `muster-core`, and stored if the version is unchanged.

mod access;
mod apply;
mod asked_logs;
pub mod check_ins;
#[cfg(test)]
mod claims;
mod decided;
mod delete;
mod elsewhere;
mod environment;
mod handover;
mod index;
mod os_image;
mod poll;
mod proof;
mod reads;
mod register;
mod restore;

pub use access::{HostImages, HostSettings, Hosts};
pub use index::{BestHosts, FoundHosts, HostIndex, HostSearch};
pub(crate) use index::{ChosenHost, HostChoice};
pub use proof::{NotProved, ProofError, Proofs, Spoken};
pub use register::Registration;
