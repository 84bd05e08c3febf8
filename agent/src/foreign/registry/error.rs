//! The error of an image that cannot be pulled.

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
