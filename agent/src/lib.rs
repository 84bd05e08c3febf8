//! The agent of the discovery image as a library: collects a host's hardware, communicates with its service, and runs the
//! discovery image as process 1.

pub mod boot_artifacts;
pub mod checks;
pub mod client;
pub mod commands;
pub mod config;
pub mod console;
pub mod drivers;
pub mod erase;
pub mod foreign;
pub mod gpt;
pub mod handover;
pub mod health;
pub mod host;
pub mod init;
pub mod install;
pub mod inventory;
pub mod logs;
pub mod net;
pub mod passthrough;
pub mod root;
pub mod self_check;
pub mod session;
pub mod step;
#[cfg(test)]
mod testing;
pub mod time;
pub mod view;
