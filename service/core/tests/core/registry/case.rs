//! The form of a case.

use muster_core::record::CheckId;
use muster_core::rules::checks::Verdict;

use super::scene::{Place, Scene};

/// The places in which a case applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    Anywhere,
    Pool,
    Bound,
}

impl Where {
    pub fn places(self) -> &'static [Place] {
        match self {
            Self::Anywhere => &[Place::Pool, Place::Cluster],
            Self::Pool => &[Place::Pool],
            Self::Bound => &[Place::Cluster],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Success,
    Failure,
    Pending,
    Error,
    Hidden,
    Disabled,
}

/// A check, where it applies, its outcome, and the change for that outcome in a world without faults.
pub type Case = (CheckId, Where, Outcome, fn(&mut Scene));

impl Outcome {
    pub fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Success(_) => Outcome::Success,
            Verdict::Failure(_) => Outcome::Failure,
            Verdict::Pending(_) => Outcome::Pending,
            Verdict::Error(_) => Outcome::Error,
            Verdict::Disabled(_) => Outcome::Disabled,
            Verdict::Hidden => Outcome::Hidden,
        }
    }
}
