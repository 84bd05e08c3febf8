//! The error of an image that cannot be pulled.

/// An image that cannot be pulled. No text holds a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error("`{0}` names no image: {1}")]
    Reference(String, &'static str),
    /// Pull secret, mirror configuration or certificates.
    #[error("{0}")]
    Configuration(String),
    /// Name resolution, routing or TLS.
    #[error("{0} cannot be reached: {1}")]
    Unreachable(String, String),
    /// 401 or 403.
    #[error("{0} does not let us in ({1}); look at the pull secret's entry for it")]
    Denied(String, String),
    /// 404.
    #[error("{0} does not have {1}")]
    Absent(String, String),
    /// Any other response.
    #[error("{0} answers {1}")]
    Answer(String, String),
    #[error("{0} returned bytes that do not have the digest {1}")]
    Digest(String, String),
    #[error("the registry configuration blocks {0}")]
    Blocked(String),
}
