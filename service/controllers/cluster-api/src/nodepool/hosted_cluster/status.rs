//! Computes the status of a HostedCluster. Source: HyperShift, api/hypershift/v1beta1/hostedcluster_conditions.go.

use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_controller::conditions::{self, ConditionReason, ConditionStatus, time};
use muster_controller::waits::{INSTALLATION_MINUTES, Limit, NODE_MINUTES};
use muster_resources::StandardCondition;
use muster_resources::hypershift::{Endpoint, HostedCluster, HostedClusterStatus, Local};
use serde_json::json;
use strum::{EnumString, IntoStaticStr};

use crate::nodepool::places;
use crate::nodepool::waits::Limited;

/// Types of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
enum Type {
    Available,
    Progressing,
    Degraded,
    ValidConfiguration,
    ReconciliationActive,
}

/// Reasons of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    AsExpected,
    UnsupportedPlatform,
    KubeconfigMissing,
    KubeconfigInvalid,
    ControlPlaneUnreachable,
    WaitingForInfrastructure,
    PullSecretMissing,
    AgentNamespaceMissing,
    NamespaceTaken,
    ReconciliationPaused,
    Deleting,
}

impl ConditionReason for Reason {
    fn event_type(self, is_new: bool) -> Option<EventType> {
        match self {
            Self::UnsupportedPlatform
            | Self::KubeconfigMissing
            | Self::KubeconfigInvalid
            | Self::ControlPlaneUnreachable
            | Self::PullSecretMissing
            | Self::AgentNamespaceMissing
            | Self::NamespaceTaken => Some(EventType::Warning),
            _ => (!is_new).then_some(EventType::Normal),
        }
    }
}

impl Limited for Reason {
    fn limit(self) -> Limit {
        match self {
            Self::ControlPlaneUnreachable => Limit::minutes(
                NODE_MINUTES,
                "See that the cluster's API is up and reachable from here, and that the kubeconfig is good.",
            ),
            Self::WaitingForInfrastructure => {
                Limit::minutes(10, "See the conditions of the AgentCluster that is named.")
            }
            Self::Deleting => Limit::minutes(
                INSTALLATION_MINUTES,
                "The conditions and Events of what is named show what it waits for.",
            ),
            _ => Limit::minutes(10, ""),
        }
    }
}

muster_controller::has_conditions!(HostedClusterStatus, StandardCondition, Reason);

type Desired = conditions::DesiredCondition<Type, Reason>;

/// A problem: the cause, and what to do.
pub type Problem = (Reason, String);

/// Facts about a HostedCluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Address of the control plane, when there is a kubeconfig.
    pub endpoint: Option<Endpoint>,
    /// The control plane's version, when it responds.
    pub version: Option<String>,
    /// Host of the Ignition server.
    pub ignition_endpoint: Option<String>,
    /// The reason why the control plane cannot be used.
    pub unavailable: Option<Problem>,
    /// The wait of its AgentCluster.
    pub waiting: Option<String>,
    /// The mistake in the spec.
    pub invalid: Option<Problem>,
}

/// The result of a reconcile.
pub enum Outcome<'a> {
    Refused(String),
    Paused,
    Deleting(String),
    Reconciled(&'a Facts),
}

/// Returns the status from now on.
pub fn status(hosted: &HostedCluster, outcome: &Outcome<'_>, now: Timestamp) -> HostedClusterStatus {
    let mut next = hosted.status.clone().unwrap_or_default();
    let active = Desired::new(
        Type::ReconciliationActive,
        ConditionStatus::True,
        Reason::AsExpected,
        "",
    );
    let desired = match outcome {
        Outcome::Refused(why) => vec![
            not_available(Reason::UnsupportedPlatform, why),
            Desired::new(
                Type::ValidConfiguration,
                ConditionStatus::False,
                Reason::UnsupportedPlatform,
                why,
            ),
            active,
        ],
        Outcome::Paused => vec![Desired::new(
            Type::ReconciliationActive,
            ConditionStatus::False,
            Reason::ReconciliationPaused,
            "spec.pausedUntil: nothing is done with the cluster until then",
        )],
        Outcome::Deleting(why) => vec![
            not_available(Reason::Deleting, why),
            progressing(Some(why)),
            active,
        ],
        Outcome::Reconciled(facts) => {
            fill(&mut next, hosted, facts, now);
            let mut list = reconciled(facts);
            list.push(active);
            list
        }
    };
    for condition in desired {
        conditions::set(&mut next.conditions, condition, now);
    }
    next
}

fn not_available(reason: Reason, why: &str) -> Desired {
    Desired::new(Type::Available, ConditionStatus::False, reason, why)
}

fn progressing(what: Option<&str>) -> Desired {
    match what {
        Some(what) => Desired::new(
            Type::Progressing,
            ConditionStatus::True,
            Reason::WaitingForInfrastructure,
            what,
        ),
        None => Desired::new(Type::Progressing, ConditionStatus::False, Reason::AsExpected, ""),
    }
}

fn reconciled(facts: &Facts) -> Vec<Desired> {
    let available = match &facts.unavailable {
        Some((reason, why)) => not_available(*reason, why),
        None => Desired::new(
            Type::Available,
            ConditionStatus::True,
            Reason::AsExpected,
            "The hosted control plane is available",
        ),
    };
    let valid = match &facts.invalid {
        Some((reason, why)) => Desired::new(Type::ValidConfiguration, ConditionStatus::False, *reason, why),
        None => Desired::new(
            Type::ValidConfiguration,
            ConditionStatus::True,
            Reason::AsExpected,
            "Configuration passes validation",
        ),
    };
    let degraded = match &facts.unavailable {
        Some((reason @ Reason::ControlPlaneUnreachable, why)) => {
            Desired::new(Type::Degraded, ConditionStatus::True, *reason, why)
        }
        _ => Desired::new(Type::Degraded, ConditionStatus::False, Reason::AsExpected, ""),
    };
    let waiting = facts.unavailable.as_ref().map(|(_, why)| why.as_str());
    vec![
        available,
        progressing(waiting.or(facts.waiting.as_deref())),
        degraded,
        valid,
    ]
}

fn fill(next: &mut HostedClusterStatus, hosted: &HostedCluster, facts: &Facts, now: Timestamp) {
    let has_kubeconfig = !matches!(&facts.unavailable, Some((Reason::KubeconfigMissing, _)));
    next.kubeconfig = has_kubeconfig.then(|| Local {
        name: places::kubeconfig(hosted).name,
    });
    next.control_plane_endpoint.clone_from(&facts.endpoint);
    next.ignition_endpoint.clone_from(&facts.ignition_endpoint);
    let image = hosted
        .spec
        .release
        .as_ref()
        .map(|release| release.image.clone())
        .unwrap_or_default();
    let Some(version) = places::version_of(&image).or_else(|| facts.version.clone()) else {
        return;
    };
    let before = next.version.as_ref().map(|version| &version["history"][0]);
    let is_same = before.is_some_and(|entry| {
        entry["version"] == version.as_str()
            && entry["image"] == image.as_str()
            && entry["state"] == "Completed"
    });
    // The control plane is not made here: the version that it runs is the only one.
    if !is_same && facts.unavailable.is_none() {
        let at = time(now);
        let version = json!({
            "desired": {"version": version, "image": image},
            "history": [{"state": "Completed", "version": version, "image": image, "verified": false,
                "startedTime": at, "completionTime": at}],
            "observedGeneration": hosted.metadata.generation.unwrap_or(0),
        });
        next.version = version.as_object().cloned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosted() -> HostedCluster {
        serde_json::from_value(json!({
            "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
            "metadata": {"name": "vcluster2", "namespace": "clusters", "generation": 1},
            "spec": {"platform": {"type": "Agent"}, "release": {"image": "quay.io/r:4.20.1-x86_64"}},
            // As `hcp create cluster agent --render` prints the status.
            "status": {"controlPlaneEndpoint": {"host": "", "port": 0}},
        }))
        .unwrap()
    }

    fn of<'a>(status: &'a HostedClusterStatus, type_: &str) -> (&'a str, &'a str) {
        let found = status.conditions.iter().find(|one| one.type_ == type_).unwrap();
        (&found.status, &found.reason)
    }

    #[test]
    fn a_cluster_is_available_when_its_control_plane_answers() {
        let now = Timestamp::from_timestamp(1_795_000_000, 0).unwrap();
        let mut hosted = hosted();
        let missing = Facts {
            unavailable: Some((Reason::KubeconfigMissing, "create the Secret".into())),
            ..Facts::default()
        };
        let first = status(&hosted, &Outcome::Reconciled(&missing), now);
        assert_eq!(of(&first, "Available"), ("False", "KubeconfigMissing"));
        assert_eq!(of(&first, "Progressing").0, "True");
        assert_eq!((&first.kubeconfig, &first.version), (&None, &None));

        hosted.status = Some(first);
        let facts = Facts {
            endpoint: Some(Endpoint {
                host: "api".into(),
                port: 6443,
            }),
            version: Some("1.34.4".into()),
            ..Facts::default()
        };
        let second = status(&hosted, &Outcome::Reconciled(&facts), now);
        assert_eq!(of(&second, "Available"), ("True", "AsExpected"));
        assert_eq!(
            second.kubeconfig.as_ref().unwrap().name,
            "vcluster2-admin-kubeconfig"
        );
        let version = second.version.as_ref().unwrap();
        assert_eq!(version["history"][0]["version"], "4.20.1");
        hosted.status = Some(second.clone());
        assert_eq!(status(&hosted, &Outcome::Reconciled(&facts), now), second);
    }
}
