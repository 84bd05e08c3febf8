//! Computes the status of an AgentRemediation.

use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_controller::conditions::ConditionStatus::False;
use muster_controller::conditions::{self, ConditionReason, DesiredCondition, time};
use muster_controller::health::Sign;
use muster_controller::times::timestamp;
use muster_resources::{AgentRemediationStatus, StandardCondition};
use strum::{EnumString, IntoStaticStr};

use super::decision::Past;

/// Types of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
enum Type {
    Ready,
}

/// Reasons of `Ready`, which is never true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    /// A reboot is requested or under way.
    Rebooting,
    /// The host was rebooted.
    WaitingForHealth,
    /// The Machine is left to its owner.
    Replacing,
    /// The Machine is being deleted.
    MachineDeleted,
    WaitingForMachine,
    WaitingForCluster,
    InvalidSpec,
    Paused,
}

/// It is on its way, until the Machine is healthy or gone, by `Ready`.
pub const SIGNS: [Sign; 1] = [Sign::stalled("Ready", "False", &["InvalidSpec"])];

impl ConditionReason for Reason {
    fn event_type(self, _: bool) -> Option<EventType> {
        match self {
            Self::Rebooting | Self::WaitingForHealth => Some(EventType::Normal),
            Self::Replacing | Self::InvalidSpec => Some(EventType::Warning),
            Self::MachineDeleted | Self::WaitingForMachine | Self::WaitingForCluster | Self::Paused => None,
        }
    }

    fn is_correction(self) -> bool {
        self == Self::InvalidSpec
    }
}

muster_controller::has_conditions!(AgentRemediationStatus, StandardCondition, Reason);

/// `status.phase`, by the names of Metal3Remediation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Phase {
    Running,
    Waiting,
    Deleting,
    Failed,
}

/// A change of the status.
#[derive(Debug)]
pub struct Change {
    /// `None`: the phase stays.
    pub phase: Option<Phase>,
    /// Time of another request to reboot the host.
    pub reboot: Option<Timestamp>,
    pub reason: Reason,
    /// A sentence without a full stop.
    pub message: String,
}

/// The status from now on; the same as `before` when nothing differs.
pub fn status(
    before: Option<&AgentRemediationStatus>,
    change: Change,
    generation: Option<i64>,
    now: Timestamp,
) -> AgentRemediationStatus {
    let mut next = before.cloned().unwrap_or_default();
    if let Some(phase) = change.phase {
        let phase: &str = phase.into();
        next.phase = Some(phase.to_owned());
    }
    if let Some(at) = change.reboot {
        next.last_remediated = Some(time(at));
        next.retry_count = Some(next.retry_count.unwrap_or_default() + 1);
    }
    let desired = DesiredCondition::new(Type::Ready, False, change.reason, change.message);
    conditions::set(&mut next.conditions, desired, now);
    for condition in &mut next.conditions {
        condition.observed_generation = generation;
    }
    next
}

/// The steps that a status records.
pub fn past(status: Option<&AgentRemediationStatus>) -> Past {
    let Some(status) = status else {
        return Past::default();
    };
    Past {
        reboots: status.retry_count.unwrap_or_default(),
        last: status.last_remediated.as_ref().and_then(timestamp),
    }
}

/// The phase that a status records.
pub fn phase(status: Option<&AgentRemediationStatus>) -> Option<Phase> {
    status?.phase.as_deref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_records_each_request_and_reads_it_again() {
        let at = |seconds: i64| Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap();
        let change = |reboot| Change {
            phase: Some(Phase::Running),
            reboot,
            reason: Reason::Rebooting,
            message: "m".into(),
        };
        let first = status(None, change(Some(at(0))), Some(1), at(0));
        let same = status(Some(&first), change(None), Some(1), at(9));
        assert_eq!(same, first);
        let second = status(Some(&first), change(Some(at(600))), Some(1), at(600));
        let wanted = Past {
            reboots: 2,
            last: Some(at(600)),
        };
        assert_eq!(
            (past(Some(&second)), phase(Some(&second))),
            (wanted, Some(Phase::Running))
        );
        assert_eq!((past(None), phase(None)), (Past::default(), None));
        assert_eq!(second.conditions[0].status, "False");
    }
}
