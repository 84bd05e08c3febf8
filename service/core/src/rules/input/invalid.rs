//! Input that cannot be accepted.

use std::borrow::Cow;

use thiserror::Error;

/// A setting that cannot be accepted (400), and the fault. Never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field}: {reason}")]
pub struct Invalid {
    /// The field's name in the API, with an index or key where that helps.
    pub field: Cow<'static, str>,
    /// The problem, and the remedy.
    pub reason: String,
}

impl Invalid {
    /// `field` is wrong because of `reason`.
    pub fn new(field: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            reason: reason.into(),
        }
    }
}
