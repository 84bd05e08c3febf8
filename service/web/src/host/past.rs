//! Checks of a host, and its states.

use muster_api::host::{HostCleaned, HostStateChange};
use muster_api::validation::{ValidationResult, ValidationStatus};

use super::actions::Action;
use crate::hosts::mood;
use crate::words;

/// Longest message of a check, letters: it may repeat a text of the host.
const LONGEST_MESSAGE: usize = 1000;

/// The checks of one group.
pub struct Checks {
    pub group: String,
    pub results: Vec<CheckRow>,
}

pub struct CheckRow {
    pub id: String,
    pub mood: &'static str,
    pub status: &'static str,
    pub message: String,
    /// An action of its cluster.
    pub change: Option<CheckChange>,
    /// The reason of a refusal just now.
    pub refusal: Option<String>,
}

/// An action with a check.
pub struct CheckChange {
    pub action: Action,
    pub button: &'static str,
}

/// A change of the state.
pub struct Change {
    pub at: String,
    pub when: String,
    pub to: &'static str,
    pub mood: &'static str,
    pub who: String,
    pub reason: String,
}

/// An erasure that is over.
pub struct PastErasure {
    pub at: String,
    pub when: String,
    pub message: String,
}

impl PastErasure {
    pub fn of(past: &HostCleaned, now: &str) -> Self {
        Self {
            at: past.at.clone(),
            when: words::relative(&past.at, now),
            message: past.message.clone(),
        }
    }
}

impl Checks {
    /// Failed ones first.
    pub fn of(group: String, results: Vec<ValidationResult>, is_bound: bool) -> Self {
        let mut results: Vec<(u8, CheckRow)> = results
            .into_iter()
            .map(|result| CheckRow::of(result, is_bound))
            .collect();
        results.sort_by_key(|(rank, _)| *rank);
        Self {
            group,
            results: results.into_iter().map(|(_, row)| row).collect(),
        }
    }
}

impl CheckRow {
    fn of(result: ValidationResult, is_bound: bool) -> (u8, Self) {
        let ignore = || CheckChange {
            action: Action::Ignore,
            button: "Ignore in the whole cluster",
        };
        let count = || CheckChange {
            action: Action::Count,
            button: "Count again",
        };
        let (rank, mood, status, change) = match result.status {
            ValidationStatus::Failure => (0, "bad", "failed", Some(ignore())),
            ValidationStatus::Error => (1, "bad", "error", Some(ignore())),
            ValidationStatus::Pending => (2, "busy", "pending", None),
            ValidationStatus::Success => (3, "good", "passed", None),
            ValidationStatus::Disabled => (4, "busy", "ignored", Some(count())),
        };
        let row = Self {
            id: result.id,
            mood,
            status,
            message: words::beginning(&result.message, LONGEST_MESSAGE),
            change: change.filter(|_| is_bound),
            refusal: None,
        };
        (rank, row)
    }
}

impl Change {
    pub fn of(change: &HostStateChange, now: &str) -> Self {
        Self {
            at: change.at.clone(),
            when: words::relative(&change.at, now),
            to: change.to.name(),
            mood: mood(change.to),
            who: change.who.clone(),
            reason: change.reason.clone(),
        }
    }
}
