//! Container registries, as far as an agent needs them that runs no container: can an image be had, and how fast?
//! Protocol: OCI distribution specification 1.1; tokens as Docker's registries hand them out.

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
