//! Actions on many hosts that a person has to confirm, by typing the number of hosts that they change.

use muster_api::jobs::{JobAction, JobPower};

/// Installations that begin without a confirmation.
const INSTALLATIONS: u64 = 10;

/// True if an action may need a confirmation: a plan of it decides for good about the hosts that it does not change, since the number that
/// is typed does not count them.
pub fn may_be_required(action: &JobAction) -> bool {
    confirmation(action, u64::MAX, true).is_some()
}

/// The number that has to be typed before `hosts` are changed; `None`: none. `erases`: the disks of hosts that leave a cluster are erased.
pub fn confirmation(action: &JobAction, hosts: u64, erases: bool) -> Option<u64> {
    let is_required = match action {
        JobAction::Delete => true,
        JobAction::Power { power } => match power {
            JobPower::Off | JobPower::Reset => true,
            JobPower::On => false,
        },
        JobAction::Install => hosts > INSTALLATIONS,
        JobAction::Unbind => erases,
        JobAction::Approve
        | JobAction::RevokeApproval
        | JobAction::Bind { .. }
        | JobAction::Role { .. }
        | JobAction::Labels { .. }
        | JobAction::Hostname { .. }
        | JobAction::Disk { .. }
        | JobAction::Discover
        | JobAction::Logs => false,
    };
    (is_required && hosts > 0).then_some(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_undone_is_confirmed() {
        let power = |power| JobAction::Power { power };
        assert_eq!(confirmation(&JobAction::Delete, 3, false), Some(3));
        assert_eq!(confirmation(&JobAction::Delete, 0, false), None);
        assert_eq!(confirmation(&power(JobPower::Off), 1, false), Some(1));
        assert_eq!(confirmation(&power(JobPower::Reset), 1, false), Some(1));
        assert_eq!(confirmation(&power(JobPower::On), 1, false), None);
        assert_eq!(confirmation(&JobAction::Install, 10, false), None);
        assert_eq!(confirmation(&JobAction::Install, 11, false), Some(11));
        assert_eq!(confirmation(&JobAction::Unbind, 2, false), None);
        assert_eq!(confirmation(&JobAction::Unbind, 2, true), Some(2));
        assert_eq!(confirmation(&JobAction::Approve, 4_000, true), None);
    }

    #[test]
    fn an_action_that_is_ever_confirmed_may_be() {
        for action in [JobAction::Delete, JobAction::Install, JobAction::Unbind] {
            assert!(may_be_required(&action), "{}", action.name());
        }
        for (power, may_be) in [
            (JobPower::On, false),
            (JobPower::Off, true),
            (JobPower::Reset, true),
        ] {
            assert_eq!(
                may_be_required(&JobAction::Power { power }),
                may_be,
                "{}",
                power.name()
            );
        }
        assert!(!may_be_required(&JobAction::Approve));
    }
}
