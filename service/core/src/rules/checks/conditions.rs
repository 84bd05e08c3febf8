//! Decides which failed checks count against a host. Source: docs/protocol/host-lifecycle.md#4.

use muster_api::validation::ValidationsInfo;

use super::ignored::is_ignored;
use super::table::{Gate, UNBOUND_GATE};
use super::verdict::passes;
use crate::record::CheckId;

/// The checks that count against a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions {
    /// In the order of [`CheckId::ALL`].
    failing: Vec<CheckId>,
}

impl Conditions {
    /// Computes the conditions from stored outcomes. `ignored`: the ids that the users of the host's cluster ignore;
    /// empty for unbound hosts.
    pub fn of(info: &ValidationsInfo, ignored: &[String]) -> Self {
        let rows = info.values().flatten().filter(|row| !passes(row.status));
        let mut failing: Vec<CheckId> = rows
            .filter_map(|row| CheckId::from_id(&row.id))
            .filter(|check| !is_ignored(*check, ignored))
            .collect();
        failing.sort_unstable();
        Self { failing }
    }

    /// True when a check passed, is hidden, disabled or ignored.
    pub fn holds(&self, check: CheckId) -> bool {
        !self.failing.contains(&check)
    }

    /// The failing checks of a gate, in the order of [`CheckId::ALL`].
    pub fn failed(&self, gate: Gate) -> Vec<CheckId> {
        self.failing_of(|check| check.gate() == gate)
    }

    /// The failing checks that keep an unbound host from being bound, in the order of [`CheckId::ALL`].
    pub fn failed_unbound(&self) -> Vec<CheckId> {
        self.failing_of(|check| UNBOUND_GATE.contains(&check))
    }

    fn failing_of(&self, of: impl Fn(CheckId) -> bool) -> Vec<CheckId> {
        self.failing.iter().copied().filter(|check| of(*check)).collect()
    }
}
