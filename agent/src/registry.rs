//! Container registries, as far as an agent needs them that runs no container: can an image be had, and how fast?
//! Protocol: OCI distribution specification 1.1; tokens as Docker's registries hand them out.

pub mod check;
mod client;
mod credentials;
mod files;
mod hash;
mod manifest;
mod mirrors;
mod reference;

pub use client::Registries;
pub use credentials::Credentials;
pub use files::{RegistryFiles, from_ignition, from_system};
pub use mirrors::Mirrors;
pub use reference::Reference;

/// Why an image cannot be had. No text holds a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The text names no image.
    #[error("`{0}` names no image: {1}")]
    Reference(String, &'static str),
    /// Pull secret, mirror configuration or certificates.
    #[error("{0}")]
    Configuration(String),
    /// Names, routes, TLS.
    #[error("{0} cannot be reached: {1}")]
    Unreachable(String, String),
    /// 401 or 403.
    #[error("{0} does not let us in ({1}); look at the pull secret's entry for it")]
    Denied(String, String),
    /// 404.
    #[error("{0} does not have {1}")]
    Absent(String, String),
    /// Any other answer.
    #[error("{0} answers {1}")]
    Answer(String, String),
    /// Bytes that are not what their digest says.
    #[error("{0} hands out other bytes than {1} says")]
    Digest(String, String),
    /// The configuration forbids it.
    #[error("the registry configuration blocks {0}")]
    Blocked(String),
}
