//! Writes iPXE scripts for machines that boot from the network, and configurations of DHCP servers that lead to them.
//!
//! Forms and facts: docs/protocol/ipxe.md#2. Everything here is text in, text out.

pub mod mac;
pub mod recipe;
pub mod script;

pub use mac::{MacAddress, MacError};
pub use script::{BootScript, OnFailure, ScriptError, System, redirect_script, to_disk_script};
