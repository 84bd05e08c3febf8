//! Requirements by OpenShift version.

use std::collections::BTreeMap;

use super::roles::{RoleRequirements, RoleTable};
use super::version::Version;
use crate::record::CheckId;

/// Requirements for hosts. The default is the built-in list.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirements {
    /// For versions that have no table of their own.
    pub default: RoleTable,
    /// For exactly these versions.
    pub exact: BTreeMap<String, RoleTable>,
    /// For these versions and later ones, up to the next.
    pub since: BTreeMap<Version, RoleTable>,
    /// Products (lower case, no spaces) that are edge workers if their architecture is `aarch64`.
    pub edge_products: Vec<String>,
    /// Checks that count as passed on the hosts of clusters that ignore none (`DISABLED_HOST_VALIDATIONS`).
    pub disabled_checks: Vec<CheckId>,
}

impl Default for Requirements {
    fn default() -> Self {
        let default = RoleTable::default();
        let mut since_4_22 = default.clone();
        since_4_22.sno.cpu_cores = 4;
        Self {
            since: BTreeMap::from([(Version([4, 22, 0]), since_4_22)]),
            default,
            exact: BTreeMap::new(),
            edge_products: vec!["bluefieldsoc".into()],
            disabled_checks: Vec::new(),
        }
    }
}

impl Requirements {
    /// The table for an OpenShift version: of exactly this one, else of the latest not later, else the default. Source: §1.
    pub fn of(&self, version: &str) -> &RoleTable {
        self.exact
            .get(version)
            .or_else(|| {
                let version = Version::parse(version)?;
                self.since.range(..=version).next_back().map(|(_, table)| table)
            })
            .unwrap_or(&self.default)
    }

    /// The row for unbound hosts when no version is given.
    pub fn unbound(&self) -> &RoleRequirements {
        self.default.unbound()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_numbers_ask_less_of_single_nodes_since_4_22() {
        let shipped = Requirements::default();
        let cores = |version: &str| shipped.of(version).sno.cpu_cores;
        assert_eq!(
            [
                "",
                "4.21",
                "4.21.9-rc.1",
                "4.22",
                "4.22.0-ec.1",
                "4.22.3",
                "5.0",
                "nonsense"
            ]
            .map(cores),
            [8, 8, 8, 4, 4, 4, 4, 8]
        );
    }
}
