//! What the outcomes of checks mean for a host's state. Source: docs/protocol/host-lifecycle.md#4.

use muster_api::validation::ValidationsInfo;

use super::check_id::CheckId;
use super::ignored::is_ignored;
use super::passes;

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

    /// Those of `checks` that stand in the way, in the order of the table.
    pub fn failed<'a>(&'a self, checks: &'a [CheckId]) -> impl Iterator<Item = CheckId> + 'a {
        self.failing
            .iter()
            .copied()
            .filter(|check| checks.contains(check))
    }

    /// Whether all of `checks` hold.
    pub fn all(&self, checks: &[CheckId]) -> bool {
        self.failed(checks).next().is_none()
    }

    /// `C` of the rules: the host polls.
    pub fn connected(&self) -> bool {
        self.holds(CheckId::Connected)
    }

    /// `M` of the rules: its boot medium can be read.
    pub fn media_connected(&self) -> bool {
        self.holds(CheckId::MediaConnected)
    }

    /// There is an inventory with something in it (rules 26 to 29, 35, 36, 38).
    pub fn valid_inventory(&self) -> bool {
        self.all(&[CheckId::HasInventory, CheckId::InventoryNotFullyTruncated])
    }

    /// Minimum hardware of a bound host (rules 27 to 30).
    pub fn min_hardware(&self) -> bool {
        self.all(&CheckId::MIN_HARDWARE)
    }

    /// Users have told all that only they know (rules 28 to 30).
    pub fn input(&self) -> bool {
        self.all(&CheckId::INPUT)
    }

    /// Disks of vSphere machines can be told apart (rules 28 to 30).
    pub fn vsphere_disk_uuid(&self) -> bool {
        self.holds(CheckId::VsphereDiskUuidEnabled)
    }

    /// All checks that gate a bound host (rules 29 to 31).
    pub fn gate(&self) -> bool {
        self.all(&CheckId::BOUND_GATE)
    }

    /// All that a host of the pool must pass (rules 36 and 38).
    pub fn pool_gate(&self) -> bool {
        self.all(&CheckId::POOL_GATE)
    }
}
