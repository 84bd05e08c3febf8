//! iPXE scripts: what a machine that boots from the network is told to load.
//!
//! Forms and facts: docs/protocol/ipxe.md#2. Everything here is text in, text out.

#![warn(missing_docs)]

pub mod mac;
pub mod script;

pub use mac::{MacAddress, MacError};
pub use script::{BootScript, ScriptError, System, redirect_script};
