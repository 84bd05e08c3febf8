//! The actions that can be chosen for many hosts.

use muster_api::jobs::{DiskRule, JobAction, JobPower};

use crate::notice::DELETE;

/// An action without its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Approve,
    RevokeApproval,
    /// Names by a pattern.
    Pattern,
    /// Names by a table.
    Names,
    Role,
    Labels,
    Disk,
    /// Disks by a table.
    Disks,
    Bind,
    Unbind,
    Install,
    Logs,
    PowerOn,
    PowerOff,
    PowerReset,
    Discover,
    Delete,
}

impl Kind {
    pub const ALL: [Self; 17] = [
        Self::Approve,
        Self::RevokeApproval,
        Self::Pattern,
        Self::Names,
        Self::Role,
        Self::Labels,
        Self::Disk,
        Self::Disks,
        Self::Bind,
        Self::Unbind,
        Self::Install,
        Self::Logs,
        Self::PowerOn,
        Self::PowerOff,
        Self::PowerReset,
        Self::Discover,
        Self::Delete,
    ];

    pub fn of(action: &JobAction) -> Self {
        match action {
            JobAction::Approve => Self::Approve,
            JobAction::RevokeApproval => Self::RevokeApproval,
            JobAction::Bind { .. } => Self::Bind,
            JobAction::Unbind => Self::Unbind,
            JobAction::Install => Self::Install,
            JobAction::Role { .. } => Self::Role,
            JobAction::Labels { .. } => Self::Labels,
            JobAction::Hostname { pattern: Some(_), .. } => Self::Pattern,
            JobAction::Hostname { pattern: None, .. } => Self::Names,
            JobAction::Disk { rule } => match rule {
                DiskRule::List { .. } => Self::Disks,
                DiskRule::SmallestSsdAbove { .. } | DiskRule::Path { .. } | DiskRule::Wwn { .. } => {
                    Self::Disk
                }
            },
            JobAction::Power { power } => match power {
                JobPower::On => Self::PowerOn,
                JobPower::Off => Self::PowerOff,
                JobPower::Reset => Self::PowerReset,
            },
            JobAction::Discover => Self::Discover,
            JobAction::Logs => Self::Logs,
            JobAction::Delete => Self::Delete,
        }
    }

    /// Its name in forms and addresses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::RevokeApproval => "revoke-approval",
            Self::Pattern => "pattern",
            Self::Names => "names",
            Self::Role => "role",
            Self::Labels => "labels",
            Self::Disk => "disk",
            Self::Disks => "disks",
            Self::Bind => "bind",
            Self::Unbind => "unbind",
            Self::Install => "install",
            Self::Logs => "logs",
            Self::PowerOn => "power-on",
            Self::PowerOff => "power-off",
            Self::PowerReset => "power-reset",
            Self::Discover => "discover",
            Self::Delete => DELETE,
        }
    }

    /// As people read it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Approve => "Approve",
            Self::RevokeApproval => "Revoke the approval",
            Self::Pattern => "Name by a pattern",
            Self::Names => "Name by a table",
            Self::Role => "Give a role",
            Self::Labels => "Label the nodes",
            Self::Disk => "Choose the installation disk",
            Self::Disks => "Choose installation disks by a table",
            Self::Bind => "Bind to a cluster",
            Self::Unbind => "Unbind",
            Self::Install => "Install",
            Self::Logs => "Collect logs",
            Self::PowerOn => "Power on",
            Self::PowerOff => "Power off",
            Self::PowerReset => "Power off and on",
            Self::Discover => "Discover again by BMC",
            Self::Delete => "Delete",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// True if it reaches into a cluster, which a token for one InfraEnv does not.
    pub fn is_of_clusters(self) -> bool {
        self == Self::Bind
    }

    /// True if a job may need the number of its hosts, typed by a person.
    pub fn may_need_number(self) -> bool {
        matches!(
            self,
            Self::Unbind | Self::Install | Self::PowerOff | Self::PowerReset | Self::Delete
        )
    }

    /// The whole action; `None`: it has values, which a form takes.
    pub fn plain(self) -> Option<JobAction> {
        let power = |power| Some(JobAction::Power { power });
        match self {
            Self::Approve => Some(JobAction::Approve),
            Self::RevokeApproval => Some(JobAction::RevokeApproval),
            Self::Unbind => Some(JobAction::Unbind),
            Self::Install => Some(JobAction::Install),
            Self::Logs => Some(JobAction::Logs),
            Self::Discover => Some(JobAction::Discover),
            Self::Delete => Some(JobAction::Delete),
            Self::PowerOn => power(JobPower::On),
            Self::PowerOff => power(JobPower::Off),
            Self::PowerReset => power(JobPower::Reset),
            Self::Pattern
            | Self::Names
            | Self::Role
            | Self::Labels
            | Self::Disk
            | Self::Disks
            | Self::Bind => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_action_has_a_name_and_a_title_of_its_own() {
        let texts: [fn(Kind) -> &'static str; 2] = [Kind::name, Kind::title];
        for of in texts {
            let distinct: BTreeSet<&str> = Kind::ALL.into_iter().map(of).collect();
            assert_eq!(distinct.len(), Kind::ALL.len());
        }
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.name()), Some(kind));
            if let Some(action) = kind.plain() {
                assert_eq!(Kind::of(&action), kind);
            }
        }
    }
}
