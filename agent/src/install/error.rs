//! The reasons why an installation ends, and their consequences for the disk.

/// The end of an installation that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// Nothing was written.
    #[error("{0}")]
    Refused(String),
    /// The disk may have been written to; it does not boot.
    #[error("{0}")]
    Failed(String),
    #[error("the installation was stopped")]
    Stopped,
}

/// Refuses with a reason.
///
/// # Errors
/// [`InstallError::Refused`], always.
pub fn refuse<T>(reason: impl Into<String>) -> Result<T, InstallError> {
    Err(InstallError::Refused(reason.into()))
}
