//! Computes the status of a Cluster. Source: Cluster API v1.11, internal/controllers/cluster.

use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_controller::conditions::{self, ConditionReason, ConditionStatus};
use muster_controller::waits::{INSTALLATION_MINUTES, Limit, NODE_MINUTES};
use muster_resources::StandardCondition;
use muster_resources::cluster_api::{ClusterInitialization, ClusterStatus, WorkersStatus};
use strum::{EnumString, IntoStaticStr};

use crate::nodepool::waits::Limited;

/// Types of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
enum Type {
    Available,
    InfrastructureReady,
    ControlPlaneInitialized,
    Deleting,
    Paused,
}

/// Reasons of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    Available,
    NotAvailable,
    Ready,
    NotReady,
    DoesNotExist,
    Initialized,
    NotInitialized,
    NotDeleting,
    WaitingForWorkersDeletion,
    WaitingForControlPlaneDeletion,
    WaitingForInfrastructureDeletion,
    Paused,
    NotPaused,
}

impl ConditionReason for Reason {
    fn event_type(self, is_new: bool) -> Option<EventType> {
        match self {
            Self::NotDeleting | Self::NotPaused => None,
            _ => (!is_new).then_some(EventType::Normal),
        }
    }
}

impl Limited for Reason {
    fn limit(self) -> Limit {
        match self {
            Self::NotReady | Self::NotInitialized => Limit::minutes(
                NODE_MINUTES,
                "The conditions of what is named show what it waits for.",
            ),
            Self::WaitingForWorkersDeletion
            | Self::WaitingForControlPlaneDeletion
            | Self::WaitingForInfrastructureDeletion => Limit::minutes(
                INSTALLATION_MINUTES,
                "The conditions and Events of what is named show what it waits for.",
            ),
            _ => Limit::minutes(10, "Make what is named, or correct the Cluster's spec."),
        }
    }
}

muster_controller::has_conditions!(ClusterStatus, StandardCondition, Reason);

type Desired = conditions::DesiredCondition<Type, Reason>;

/// Facts about a Cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// `Err`: the reason why it is not ready.
    pub infrastructure: Result<(), (Reason, String)>,
    /// `Err`: the reason why it is not initialized.
    pub control_plane: Result<(), String>,
    pub has_endpoint: bool,
    pub workers: WorkersStatus,
}

/// Returns the status of a Cluster that is not being deleted.
pub fn status(
    before: Option<&ClusterStatus>,
    facts: &Facts,
    generation: Option<i64>,
    now: Timestamp,
) -> ClusterStatus {
    let mut next = before.cloned().unwrap_or_default();
    next.observed_generation = generation;
    next.workers = Some(facts.workers.clone());
    let mut initialization = next.initialization.take().unwrap_or_default();
    // Both remain set once they are.
    if facts.infrastructure.is_ok() {
        initialization.infrastructure_provisioned = Some(true);
    }
    if facts.control_plane.is_ok() {
        initialization.control_plane_initialized = Some(true);
    }
    let phase = match initialization.infrastructure_provisioned {
        Some(true) if facts.has_endpoint => "Provisioned",
        _ => "Provisioning",
    };
    next.initialization = (initialization != ClusterInitialization::default()).then_some(initialization);
    next.phase = Some(phase.into());

    let infrastructure = match &facts.infrastructure {
        Ok(()) => Desired::new(
            Type::InfrastructureReady,
            ConditionStatus::True,
            Reason::Ready,
            "",
        ),
        Err((reason, why)) => Desired::new(Type::InfrastructureReady, ConditionStatus::False, *reason, why),
    };
    let type_ = Type::ControlPlaneInitialized;
    let control_plane = match &facts.control_plane {
        Ok(()) => Desired::new(type_, ConditionStatus::True, Reason::Initialized, ""),
        Err(why) => Desired::new(type_, ConditionStatus::False, Reason::NotInitialized, why),
    };
    let missing = [
        facts.infrastructure.as_ref().err().map(|(_, why)| why.as_str()),
        facts.control_plane.as_ref().err().map(String::as_str),
    ];
    let missing: Vec<&str> = missing.into_iter().flatten().collect();
    let available = if missing.is_empty() {
        Desired::new(Type::Available, ConditionStatus::True, Reason::Available, "")
    } else {
        let why = missing.join("; ");
        Desired::new(Type::Available, ConditionStatus::False, Reason::NotAvailable, why)
    };
    let not_deleting = Desired::new(Type::Deleting, ConditionStatus::False, Reason::NotDeleting, "");
    for condition in [
        available,
        infrastructure,
        control_plane,
        not_deleting,
        not_paused(),
    ] {
        conditions::set(&mut next.conditions, condition, now);
    }
    next
}

/// Returns the status of a Cluster while its deletion waits.
pub fn deleting(
    before: Option<&ClusterStatus>,
    reason: Reason,
    message: &str,
    now: Timestamp,
) -> ClusterStatus {
    let mut next = before.cloned().unwrap_or_default();
    next.phase = Some("Deleting".into());
    let deleting = Desired::new(Type::Deleting, ConditionStatus::True, reason, message);
    let available = Desired::new(
        Type::Available,
        ConditionStatus::False,
        Reason::NotAvailable,
        "it is being deleted",
    );
    for condition in [available, deleting, not_paused()] {
        conditions::set(&mut next.conditions, condition, now);
    }
    next
}

/// Returns the status of a Cluster that is paused.
pub fn paused(before: Option<&ClusterStatus>, now: Timestamp) -> ClusterStatus {
    let mut next = before.cloned().unwrap_or_default();
    let paused = Desired::new(
        Type::Paused,
        ConditionStatus::True,
        Reason::Paused,
        "it is paused",
    );
    conditions::set(&mut next.conditions, paused, now);
    next
}

fn not_paused() -> Desired {
    Desired::new(Type::Paused, ConditionStatus::False, Reason::NotPaused, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_provisioned_when_its_infrastructure_was_ready_once() {
        let now = Timestamp::from_timestamp(1_795_000_000, 0).unwrap();
        let mut facts = Facts {
            infrastructure: Err((Reason::NotReady, "the AgentCluster c is not ready yet".into())),
            control_plane: Err("no kubeconfig".into()),
            has_endpoint: true,
            workers: WorkersStatus::default(),
        };
        let first = status(None, &facts, Some(1), now);
        assert_eq!(first.phase.as_deref(), Some("Provisioning"));
        let available = first
            .conditions
            .iter()
            .find(|one| one.type_ == "Available")
            .unwrap();
        assert_eq!(
            available.message,
            "the AgentCluster c is not ready yet; no kubeconfig"
        );
        facts.infrastructure = Ok(());
        facts.control_plane = Ok(());
        let second = status(Some(&first), &facts, Some(1), now);
        assert_eq!(second.phase.as_deref(), Some("Provisioned"));
        facts.infrastructure = Err((Reason::NotReady, "again".into()));
        let third = status(Some(&second), &facts, Some(1), now);
        assert_eq!(third.phase.as_deref(), Some("Provisioned"));
        assert_eq!(third.initialization, second.initialization);
    }
}
