//! Computes the id under which this host registers, and the fingerprint that distinguishes it from another host with
//! the same id.

pub mod fingerprint;
pub mod id;
pub mod key;
mod live;
pub mod restart;

pub use live::{fingerprint, identity, machine, predictable_name};
