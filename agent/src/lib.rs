//! The agent of the discovery image, as a library: what it finds out about a host.

pub mod disk_links;
pub mod host_id;
pub mod inventory;
pub mod inventory_command;
pub mod predictable_names;
pub mod root;
mod sysfs;
#[cfg(test)]
mod testing;
