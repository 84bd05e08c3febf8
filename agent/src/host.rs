//! Computes who this host is: the id under which it registers, and the fingerprint that tells it from another host
//! with the same id.

pub mod fingerprint;
pub mod id;
mod live;

pub use live::{fingerprint, identity, machine, predictable_name};
