//! The refusal of bootstrap data.

use thiserror::Error;

/// A member of bootstrap data that an installed host cannot apply. It repeats no value: bootstrap data holds secrets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{member}`: {why}")]
pub struct Refused {
    /// Path of the member, such as `storage.filesystems.0.mount.create`; of one in a config that another config holds,
    /// `ignition.config.merge.0.source -> storage.files.1.path`.
    pub member: String,
    /// The reason, and the remedy.
    pub why: String,
}

impl Refused {
    /// Refuses the member at the path `member`.
    pub fn new(member: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            member: member.into(),
            why: why.into(),
        }
    }

    /// The same of a config that the member `holder` of another config holds.
    #[must_use]
    pub(super) fn held_by(mut self, holder: &str) -> Self {
        if !holder.is_empty() {
            self.member = format!("{holder} -> {}", self.member);
        }
        self
    }
}
