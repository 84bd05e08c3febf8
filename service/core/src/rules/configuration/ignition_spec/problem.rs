//! Ignition's objections to a config, with their paths.

use std::fmt;

/// An objection of Ignition to a config. It repeats no value: configs hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Of the member, such as `storage.files.0.mode`; empty for the text as a whole.
    pub path: String,
    /// The problem, and the remedy.
    pub why: String,
    /// True if the text cannot be read, so that no rule was applied.
    pub unreadable: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.why)
    }
}

/// The text at `path` cannot be read.
pub(super) fn unreadable(path: String, why: impl Into<String>) -> Problem {
    Problem {
        path,
        why: why.into(),
        unreadable: true,
    }
}

/// The path of a member or item below `path`.
pub(super) fn joined(path: &str, name: impl fmt::Display) -> String {
    if path.is_empty() {
        name.to_string()
    } else {
        format!("{path}.{name}")
    }
}
