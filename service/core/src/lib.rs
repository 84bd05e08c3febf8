//! Decides what a host is, what can happen to it, what follows from it, and which input is acceptable.
//!
//! Four layers, each uses only those below it: `record` (what is stored), `rules` (checks, findings, disks, requirements,
//! ignition, acceptable input), `lifecycle` (events change a record; views and instructions follow from it), `query` (finds
//! hosts among many).
//! No I/O, no clock, no randomness: time and random values are parameters. Cargo keeps it so: this crate
//! sees no tokio, sqlx, kube, axum or reqwest.

mod json;
pub mod lifecycle;
pub mod query;
pub mod record;
pub mod rules;
pub mod text;
