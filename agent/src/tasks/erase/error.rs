//! The reasons why a disk is not erased.

/// The end of a disk's erasure that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// It was cancelled: it begins again with the next request.
    #[error("the erasure was stopped before its end")]
    Stopped,
    /// A method is not possible on this disk, or did not do its work: the next one may.
    #[error("{0}")]
    Failed(String),
}

impl EraseError {
    /// A failure of what was done, with its reason.
    pub fn of(what: &str, reason: impl std::fmt::Display) -> Self {
        Self::Failed(format!("{what}: {reason}"))
    }

    /// The same as a part of `what`.
    #[must_use]
    pub fn during(self, what: &str) -> Self {
        match self {
            Self::Stopped => Self::Stopped,
            Self::Failed(reason) => Self::of(what, reason),
        }
    }
}
