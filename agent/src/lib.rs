//! The agent of the discovery image as a library: collects a host's hardware, communicates with its service, and runs the
//! discovery image as process 1.

pub mod client;
pub mod commands;
pub mod config;
pub mod console;
mod disk_access;
pub mod drivers;
pub mod handover;
pub mod health;
pub mod host;
pub mod init;
pub mod inventory;
pub mod net;
pub mod root;
pub mod self_check;
pub mod session;
pub mod step;
mod tasks;
#[cfg(test)]
mod testing;
pub mod time;
pub mod view;

pub use disk_access::{gpt, passthrough};
pub use tasks::{boot_artifacts, checks, erase, foreign, install, logs};
