//! Runs the service: opens everything, prints where it listens, runs until it is stopped.

mod banner;
mod certificate;
pub mod data_lock;
pub mod emptied;
mod front;
mod given;
mod kubernetes_runtime;
mod last_resort;
mod notify;
mod open;
mod run;
pub(crate) mod signals;

pub use given::open_keys;
pub use run::run;
