//! What the outcomes of checks mean for a host's state. Source: docs/protocol/host-lifecycle.md#4.

use muster_api::validation::ValidationsInfo;

use super::check_id::CheckId;
use super::ignored::is_ignored;
use super::passes;
use super::table::Gate;

/// Which checks stand in a host's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions {
    /// In the order of the table.
    failing: Vec<CheckId>,
}

impl Conditions {
    /// Of stored outcomes. `ignored`: what the users of the host's cluster ignore; empty for hosts of the pool.
    pub fn of(info: &ValidationsInfo, ignored: &[String]) -> Self {
        let rows = info.values().flatten().filter(|row| !passes(row.status));
        let mut failing: Vec<CheckId> = rows
            .filter_map(|row| CheckId::from_id(&row.id))
            .filter(|check| !is_ignored(*check, ignored))
            .collect();
        failing.sort_unstable();
        Self { failing }
    }

    /// Whether a check passed, is hidden, disabled or ignored.
    pub fn holds(&self, check: CheckId) -> bool {
        !self.failing.contains(&check)
    }

    /// The checks of a gate that stand in the way, in the order of the table.
    pub fn failed(&self, gate: Gate) -> Vec<CheckId> {
        self.failing_of(|check| check.gate() == gate)
    }

    /// The checks that keep a host of the pool from being bound, in the order of the table.
    pub fn failed_in_the_pool(&self) -> Vec<CheckId> {
        self.failing_of(|check| CheckId::POOL_GATE.contains(&check))
    }

    fn failing_of(&self, of: impl Fn(CheckId) -> bool) -> Vec<CheckId> {
        self.failing.iter().copied().filter(|check| of(*check)).collect()
    }
}
