//! Computes the id under which this host registers, and the fingerprint that distinguishes it from another host with
//! the same id. Its key, and what a newer program of the agent inherits, keep it the same host.

pub mod fingerprint;
pub mod id;
pub mod inherited;
pub mod key;
mod live;
pub mod restart;

pub use live::{fingerprint, identity, machine, predictable_name};
