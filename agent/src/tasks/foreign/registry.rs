//! Checks that a container registry has an image, and how fast it delivers it, without running a container.
//! Protocol: OCI distribution specification 1.1; tokens as Docker's registries issue them.
//!
//! Not `oci-client` (0.18): it builds its own `reqwest` client from a fixed list of options, so it cannot
//! take the agent's resolver (a static program on the live image has no system resolver), nor
//! [`crate::net::trust`] (self-signed certificates that are configured); it follows redirects from https to
//! plain http and sends the password to any token service, also over plain HTTP; its body limits and mirrors
//! would still have to be written here. It adds some 25 crates (`oci-spec`, `regex`, ...), and the size of this binary counts.

pub mod check;
mod client;
mod credentials;
mod error;
mod files;
mod hash;
mod manifest;
mod mirrors;
mod reference;

pub use client::Registries;
pub use credentials::Credentials;
pub use error::RegistryError;
pub use files::{RegistryFiles, from_ignition, from_system};
pub use mirrors::Mirrors;
pub use reference::Reference;
