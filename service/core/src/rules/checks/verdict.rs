//! The outcome of one check.

use muster_api::validation::ValidationStatus;

/// The outcome of a check, with a message for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Success(String),
    Failure(String),
    /// Facts are missing that the host or its cluster will report later.
    Pending(String),
    /// The reported facts contradict each other or cannot be read.
    Error(String),
    /// Switched off for the whole service.
    Disabled(String),
    /// The check does not apply to this host: it is not shown and counts as passed.
    Hidden,
}

impl Verdict {
    pub(super) fn success(text: impl Into<String>) -> Self {
        Self::Success(text.into())
    }
}

/// The verdict while there is no inventory.
pub(super) fn no_inventory() -> Verdict {
    Verdict::Pending("Waits for the host's inventory".into())
}

/// True for outcomes that do not block a host.
pub(super) fn passes(status: ValidationStatus) -> bool {
    match status {
        ValidationStatus::Success | ValidationStatus::Disabled => true,
        ValidationStatus::Failure | ValidationStatus::Pending | ValidationStatus::Error => false,
    }
}
