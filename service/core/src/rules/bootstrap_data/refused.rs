//! The part of bootstrap data that cannot come true.

use std::fmt;

use thiserror::Error;

use crate::rules::ignition_spec::Problem;

/// The member that is refused, and the reason. Neither repeats a value: bootstrap data holds secrets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Refused {
    /// Path of the member, such as `storage.files.0.path`; empty for the data as a whole.
    pub member: String,
    /// The reason, and what to write in its place.
    pub why: String,
}

impl Refused {
    pub(super) fn new(member: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            member: member.into(),
            why: why.into(),
        }
    }

    pub(super) fn whole(why: impl Into<String>) -> Self {
        Self::new("", why)
    }

    /// The first of Ignition's objections, with the number of the others.
    pub(super) fn of(problems: &[Problem]) -> Self {
        let Some(first) = problems.first() else {
            return Self::whole("is not what Ignition takes");
        };
        let why = match problems.len() {
            1 => first.why.clone(),
            len => format!("{} (and {} more)", first.why, len - 1),
        };
        Self::new(first.path.clone(), why)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.member.is_empty() {
            write!(f, "{}: ", self.member)?;
        }
        f.write_str(&self.why)
    }
}
