//! The steps that this agent can run, one file each. A new step is a file here and a line in
//! [`Registry::standard`]; steps that Muster's own service never sends are in [`crate::foreign::steps`].

pub mod api_vip;
pub mod boot_artifacts;
pub mod connectivity;
pub mod domains;
pub mod erase;
pub mod health;
pub mod install;
pub mod inventory;
pub mod logs;
pub mod ntp;
pub mod reboot;
pub mod reboot_node;
mod registry;
pub mod tang;
pub mod upgrade;

pub use registry::Registry;
