//! Writes hosts, and nothing else does: each change is loaded, decided in `muster-core`, stored if the version is unchanged.

mod access;
mod apply;
mod asked_logs;
mod decided;
mod delete;
mod environment;
mod handover;
mod os_image;
mod poll;
mod proof;
mod register;
mod restore;

pub use access::{HostImages, HostSettings, Hosts};
pub use decided::ByUser;
pub use proof::{NotProved, ProofError, Proofs, Spoken};
pub use register::Registration;
