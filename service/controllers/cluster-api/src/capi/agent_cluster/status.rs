//! Computes the status of an AgentCluster.

use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_controller::conditions::ConditionStatus::{False, True};
use muster_controller::conditions::{self, ConditionReason, DesiredCondition};
use muster_controller::health::Sign;
use muster_controller::waits::{Limit, NODE_MINUTES, Wait};
use muster_resources::{
    AgentClusterStatus, ClusterReference, FailureDomain, Initialization, StandardCondition,
};
use strum::{EnumString, IntoStaticStr};

/// Types of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
enum Type {
    Ready,
    /// Present only while the object is paused.
    Paused,
}

/// Reasons of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    AgentClusterReady,
    WaitingForCluster,
    WaitingForControlPlane,
    WaitingForControlPlaneEndpoint,
    /// A ClusterDeployment of that name exists, of another owner.
    ClusterDeploymentConflict,
    /// Somebody answers at the address of the API before it is made.
    EndpointInUse,
    Paused,
}

/// Whatever else it waits for is shown by `Ready` alone.
pub const SIGNS: [Sign; 1] = [Sign::stalled(
    "Ready",
    "False",
    &["ClusterDeploymentConflict", "EndpointInUse"],
)];

impl ConditionReason for Reason {
    fn event_type(self, is_new: bool) -> Option<EventType> {
        match self {
            Self::ClusterDeploymentConflict | Self::EndpointInUse => Some(EventType::Warning),
            Self::AgentClusterReady => Some(EventType::Normal),
            Self::WaitingForCluster | Self::WaitingForControlPlane | Self::WaitingForControlPlaneEndpoint => {
                (!is_new).then_some(EventType::Normal)
            }
            Self::Paused => None,
        }
    }
}

muster_controller::has_conditions!(AgentClusterStatus, StandardCondition, Reason);

/// An AgentCluster's state.
#[derive(Debug)]
pub struct Found {
    /// The ClusterDeployment, if it exists; `None` keeps the former one.
    pub deployment: Option<ClusterReference>,
    pub reason: Reason,
    pub message: String,
}

/// The status from now on; the same as `before` when nothing differs. What was ready stays ready. `domains`: `None` keeps the former ones.
pub fn status(
    before: Option<&AgentClusterStatus>,
    found: Found,
    domains: Option<Vec<FailureDomain>>,
    generation: Option<i64>,
    now: Timestamp,
) -> AgentClusterStatus {
    let mut next = before.cloned().unwrap_or_default();
    if let Some(deployment) = found.deployment {
        next.cluster_deployment_reference = deployment;
    }
    if let Some(domains) = domains {
        next.failure_domains = domains;
    }
    let is_ready = found.reason == Reason::AgentClusterReady;
    let paused = (found.reason == Reason::Paused)
        .then(|| DesiredCondition::new(Type::Paused, True, found.reason, found.message.clone()));
    let truth = if is_ready { True } else { False };
    let desired = DesiredCondition::new(Type::Ready, truth, found.reason, found.message);
    conditions::set(&mut next.conditions, desired, now);
    match paused {
        Some(paused) => conditions::set(&mut next.conditions, paused, now),
        None => conditions::remove(&mut next.conditions, Type::Paused),
    }
    for condition in &mut next.conditions {
        condition.observed_generation = generation;
    }
    next.ready |= is_ready;
    next.initialization = Some(Initialization {
        provisioned: Some(next.ready),
    });
    next
}

/// The wait that the condition `Ready` shows.
pub fn wait(status: &AgentClusterStatus) -> Option<Wait> {
    let ready = status
        .conditions
        .iter()
        .find(|one| one.type_ == "Ready" && one.status != "True")?;
    let reason: Reason = ready.reason.parse().ok()?;
    if reason == Reason::Paused {
        return None;
    }
    Some(Wait {
        needs_user: matches!(reason, Reason::ClusterDeploymentConflict | Reason::EndpointInUse),
        ..Wait::of_condition(ready, reason.into(), limit(reason))
    })
}

/// The limit of the wait: clusters are made in seconds, control planes start like nodes.
fn limit(reason: Reason) -> Limit {
    match reason {
        Reason::WaitingForCluster => Limit::minutes(
            10,
            "See that the controllers of Cluster API run, and that the Cluster's spec.infrastructureRef names this AgentCluster.",
        ),
        Reason::WaitingForControlPlane => Limit::minutes(
            NODE_MINUTES,
            "See the conditions of the control plane that the Cluster's spec.controlPlaneRef names.",
        ),
        Reason::WaitingForControlPlaneEndpoint => Limit::minutes(
            NODE_MINUTES,
            "See the conditions of the control plane, or set the address by hand.",
        ),
        Reason::ClusterDeploymentConflict
        | Reason::EndpointInUse
        | Reason::Paused
        | Reason::AgentClusterReady => Limit::minutes(10, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_ready_stays_ready_and_keeps_its_cluster_deployment() {
        let now = Timestamp::from_timestamp(1_795_000_000, 0).unwrap();
        let found = |deployment: Option<&str>, reason| Found {
            deployment: deployment.map(|name| ClusterReference {
                name: name.into(),
                namespace: "c".into(),
            }),
            reason,
            message: String::new(),
        };
        let domains = |name: &str| {
            Some(vec![FailureDomain {
                name: name.into(),
                ..FailureDomain::default()
            }])
        };
        let first = status(None, found(None, Reason::WaitingForCluster), None, Some(1), now);
        assert_eq!(wait(&first).map(|wait| wait.reason), Some("WaitingForCluster"));
        assert!(!first.ready && first.cluster_deployment_reference.name.is_empty());
        let second = status(
            Some(&first),
            found(Some("hc"), Reason::AgentClusterReady),
            domains("east"),
            Some(1),
            now,
        );
        let third = status(Some(&second), found(None, Reason::Paused), None, Some(2), now);
        assert!(first.failure_domains.is_empty());
        assert_eq!(Some(third.failure_domains.clone()), domains("east"));
        assert!(second.ready && third.ready && wait(&second).is_none() && wait(&third).is_none());
        assert_eq!(third.cluster_deployment_reference.name, "hc");
        assert_eq!(
            (
                third.conditions[0].status.as_str(),
                third.conditions[0].observed_generation
            ),
            ("False", Some(2))
        );
        let paused = |status: &AgentClusterStatus| {
            let mut list = status.conditions.iter();
            list.find(|one| one.type_ == "Paused")
                .map(|one| (one.status.clone(), one.observed_generation))
        };
        assert_eq!(paused(&third), Some(("True".into(), Some(2))));
        let fourth = status(
            Some(&third),
            found(None, Reason::AgentClusterReady),
            None,
            Some(2),
            now,
        );
        assert_eq!(paused(&fourth), None);
    }
}
