//! Keeps the reasons of probes that fail: the field stays empty, the reason is printed and logged.

use crate::root::ProbeError;

/// A field that is unknown or may be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `memory.physical_bytes`, `disks.sda.serial`, ...
    pub field: String,
    pub reason: String,
}

/// Collects the reasons of probes that fail.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn note(&mut self, field: &str, reason: impl Into<String>) {
        self.0.push(Problem {
            field: field.to_owned(),
            reason: reason.into(),
        });
    }

    pub(crate) fn take<T>(&mut self, field: &str, answer: Result<T, ProbeError>) -> Option<T> {
        answer.map_err(|reason| self.note(field, reason.to_string())).ok()
    }

    pub(crate) fn add(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(crate) fn into_list(self) -> Vec<Problem> {
        self.0
    }
}
