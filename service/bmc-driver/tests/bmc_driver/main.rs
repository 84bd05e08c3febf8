//! Machines in memory behind emulated BMCs become hosts, or report why not.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

mod discovery;
mod faults;
mod hardships;
mod media;
mod others;
mod power;
mod rack;
mod returns;
mod service;
