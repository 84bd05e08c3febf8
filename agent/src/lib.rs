//! The agent of the discovery image, as a library: what it finds out about a host, how it talks to a
//! service, and what it does as the first process of the image.

pub mod boot_artifacts;
pub mod checks;
pub mod config;
pub mod console;
pub mod devices;
pub mod disk_links;
pub mod disk_speed;
pub mod disk_speed_command;
pub mod fingerprint;
pub mod host;
pub mod host_id;
pub mod init;
pub mod inventory;
pub mod inventory_command;
pub mod logs;
pub mod net;
pub mod predictable_names;
pub mod registry;
pub mod root;
pub mod run;
pub mod session;
mod sysfs;
#[cfg(test)]
mod testing;
pub mod time;
