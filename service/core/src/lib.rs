//! Pure decisions: what a host can be, what can happen to it, what follows; which input is acceptable.
//!
//! No I/O, no clock, no randomness: time and random values are parameters. Cargo keeps it so: this crate
//! sees no tokio, sqlx, kube, axum or reqwest.

pub mod cluster;
pub mod event;
pub mod findings;
pub mod host;
pub mod ignition;
pub mod infra_env;
pub mod kube;
pub mod secret;
pub mod text;
pub mod validate;
