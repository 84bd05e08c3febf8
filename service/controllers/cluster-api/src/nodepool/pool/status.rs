//! Computes the status of a NodePool. Source: HyperShift, api/hypershift/v1beta1/nodepool_conditions.go.

use kube::ResourceExt;
use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_controller::conditions::{self, ConditionReason, ConditionStatus};
use muster_controller::waits::{INSTALLATION_MINUTES, Limit};
use muster_resources::StandardCondition;
use muster_resources::cluster_api::Machine;
use muster_resources::hypershift::{NodePool, NodePoolStatus, UpgradeStrategy, UpgradeType};
use strum::{EnumString, IntoStaticStr};

use super::desired::{self, Target};
use super::plan::View;
use crate::nodepool::places;
use crate::nodepool::waits::Limited;

/// Most Machines that one message names.
const NAMED: usize = 5;

/// Types of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
enum Type {
    Ready,
    AllMachinesReady,
    AllNodesHealthy,
    /// True while Machines are replaced because bootstrap data, release or template changed.
    UpdatingConfig,
    UpdatingVersion,
    UpdateManagementEnabled,
    AutoscalingEnabled,
    AutorepairEnabled,
    ReconciliationActive,
}

/// Reasons of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    AsExpected,
    UnsupportedPlatform,
    HostedClusterNotFound,
    WaitingForCluster,
    UserDataMissing,
    ScalingUp,
    ScalingDown,
    RollingOut,
    WaitingForNodes,
    OnlyNewMachines,
    WaitingForDeletion,
    NotOffered,
    ReconciliationPaused,
    Deleting,
}

impl ConditionReason for Reason {
    fn event_type(self, is_new: bool) -> Option<EventType> {
        match self {
            Self::UnsupportedPlatform | Self::HostedClusterNotFound | Self::UserDataMissing => {
                Some(EventType::Warning)
            }
            Self::NotOffered => None,
            _ => (!is_new).then_some(EventType::Normal),
        }
    }
}

const SEE_MACHINES: &str =
    "The conditions and Events of the Machines that are named show what they wait for.";

impl Limited for Reason {
    fn limit(self) -> Limit {
        match self {
            Self::RollingOut | Self::WaitingForNodes | Self::ScalingDown | Self::Deleting => {
                Limit::minutes(INSTALLATION_MINUTES, SEE_MACHINES)
            }
            Self::WaitingForCluster => {
                Limit::minutes(10, "The conditions of the HostedCluster show why it has none.")
            }
            _ => Limit::minutes(10, ""),
        }
    }
}

muster_controller::has_conditions!(NodePoolStatus, StandardCondition, Reason);

type Desired = conditions::DesiredCondition<Type, Reason>;

/// The result of a reconcile.
pub enum Outcome<'a> {
    /// The pool is not reconciled: the reason.
    Refused(Reason, String),
    /// The pool is paused.
    Paused,
    /// The pool is being deleted, and waits for Machines.
    Deleting { machines: &'a [Machine] },
    /// Machines are created and deleted as the spec requires.
    Reconciled {
        machines: &'a [Machine],
        target: &'a Target,
        wanted: usize,
        /// Advice if the bootstrap data are missing.
        missing: Option<String>,
    },
}

/// Returns the status from now on.
pub fn status(pool: &NodePool, outcome: &Outcome<'_>, now: Timestamp) -> NodePoolStatus {
    let mut next = pool.status.clone().unwrap_or_default();
    let mut desired = fixed(pool);
    match outcome {
        Outcome::Refused(reason, why) => {
            next.replicas = 0;
            desired.push(Desired::new(Type::Ready, ConditionStatus::False, *reason, why));
        }
        Outcome::Paused => {
            desired.retain(|condition| condition.type_ != Type::ReconciliationActive);
            let why = "spec.pausedUntil: nothing is done with the pool until then";
            desired.push(Desired::new(
                Type::ReconciliationActive,
                ConditionStatus::False,
                Reason::ReconciliationPaused,
                why,
            ));
        }
        Outcome::Deleting { machines } => {
            let why = format!("waits for {} Machines to go: {}", machines.len(), waits(machines));
            desired.push(Desired::new(
                Type::Ready,
                ConditionStatus::False,
                Reason::Deleting,
                why,
            ));
        }
        Outcome::Reconciled {
            machines,
            target,
            wanted,
            missing,
        } => {
            let views: Vec<View> = machines
                .iter()
                .map(|machine| desired::view(machine, target))
                .collect();
            let available = views
                .iter()
                .filter(|view| view.available && !view.deleting)
                .count();
            next.replicas = i32::try_from(available).unwrap_or(i32::MAX);
            next.version = places::version_of(&pool.spec.release.image).or(next.version);
            desired.push(ready(machines, &views, *wanted, missing.as_deref()));
            desired.extend(aggregated(machines));
            desired.push(updating(pool, &views));
        }
    }
    for condition in desired {
        conditions::set(&mut next.conditions, condition, now);
    }
    next
}

/// Conditions that depend on the spec alone.
fn fixed(pool: &NodePool) -> Vec<Desired> {
    let is_scaling = pool.spec.auto_scaling.is_some();
    let autoscaling = if is_scaling {
        "no autoscaler runs here: the number of nodes stays within the limits, and otherwise as it is"
    } else {
        ""
    };
    vec![
        Desired::new(
            Type::AutoscalingEnabled,
            ConditionStatus::False,
            if is_scaling {
                Reason::NotOffered
            } else {
                Reason::AsExpected
            },
            autoscaling,
        ),
        Desired::new(
            Type::AutorepairEnabled,
            ConditionStatus::False,
            if pool.spec.management.auto_repair {
                Reason::NotOffered
            } else {
                Reason::AsExpected
            },
            if pool.spec.management.auto_repair {
                "Machines are not replaced because they are ill: delete the Machine to have it replaced"
            } else {
                ""
            },
        ),
        Desired::new(
            Type::UpdateManagementEnabled,
            ConditionStatus::True,
            Reason::AsExpected,
            "",
        ),
        Desired::new(
            Type::UpdatingVersion,
            ConditionStatus::False,
            Reason::AsExpected,
            "",
        ),
        Desired::new(
            Type::ReconciliationActive,
            ConditionStatus::True,
            Reason::AsExpected,
            "",
        ),
    ]
}

fn ready(machines: &[Machine], views: &[View], wanted: usize, missing: Option<&str>) -> Desired {
    let not = |reason, message: String| Desired::new(Type::Ready, ConditionStatus::False, reason, message);
    let available = views
        .iter()
        .filter(|view| view.available && !view.deleting)
        .count();
    let old = views
        .iter()
        .filter(|view| !view.up_to_date && !view.deleting)
        .count();
    let going: Vec<Machine> = machines
        .iter()
        .filter(|machine| machine.metadata.deletion_timestamp.is_some())
        .cloned()
        .collect();
    let coming: Vec<Machine> = machines
        .iter()
        .zip(views)
        .filter(|(_, view)| !view.available && !view.deleting)
        .map(|(machine, _)| machine.clone())
        .collect();
    let alive = views.len() - going.len();
    if let Some(missing) = missing
        && alive < wanted
    {
        return not(Reason::UserDataMissing, missing.to_owned());
    }
    let so_far = format!("{available} of {wanted} nodes are available");
    let waits = |of: &[Machine]| waits(of);
    match () {
        () if alive < wanted => not(Reason::ScalingUp, so_far),
        () if old > 0 && (!coming.is_empty() || !going.is_empty()) => {
            let all: Vec<Machine> = coming.into_iter().chain(going).collect();
            not(
                Reason::RollingOut,
                format!("{so_far}, {old} are to be replaced; {}", waits(&all)),
            )
        }
        () if !coming.is_empty() => not(Reason::WaitingForNodes, format!("{so_far}; {}", waits(&coming))),
        () if !going.is_empty() => not(Reason::ScalingDown, format!("{so_far}; {}", waits(&going))),
        () => Desired::new(Type::Ready, ConditionStatus::True, Reason::AsExpected, ""),
    }
}

/// The messages of the waits of some Machines.
fn waits(machines: &[Machine]) -> String {
    let mut named: Vec<String> = machines.iter().take(NAMED).map(one).collect();
    if machines.len() > NAMED {
        named.push(format!("and {} more", machines.len() - NAMED));
    }
    named.join("; ")
}

fn one(machine: &Machine) -> String {
    let of = |type_: &str, status: &str| {
        let mut conditions = machine.status.iter().flat_map(|status| &status.conditions);
        conditions.find(|condition| condition.type_ == type_ && condition.status == status)
    };
    let deleting = of("Deleting", "True").filter(|_| machine.metadata.deletion_timestamp.is_some());
    let waiting = ["BootstrapConfigReady", "InfrastructureReady", "NodeHealthy"];
    let open = waiting
        .iter()
        .find_map(|type_| of(type_, "False").or_else(|| of(type_, "Unknown")));
    match deleting.or(open) {
        Some(condition) if condition.message.is_empty() => {
            format!("{}: {}", machine.name_any(), condition.reason)
        }
        Some(condition) => format!("{}: {}", machine.name_any(), condition.message),
        None => format!("{} begins", machine.name_any()),
    }
}

fn aggregated(machines: &[Machine]) -> [Desired; 2] {
    [
        (Type::AllMachinesReady, "InfrastructureReady"),
        (Type::AllNodesHealthy, "NodeHealthy"),
    ]
    .map(|(type_, of_machine)| {
        let open: Vec<String> = machines
            .iter()
            .filter(|machine| {
                let mut conditions = machine.status.iter().flat_map(|status| &status.conditions);
                !conditions.any(|condition| condition.type_ == of_machine && condition.status == "True")
            })
            .map(ResourceExt::name_any)
            .collect();
        if open.is_empty() {
            return Desired::new(type_, ConditionStatus::True, Reason::AsExpected, "");
        }
        let mut named: Vec<String> = open.iter().take(NAMED).cloned().collect();
        if open.len() > NAMED {
            named.push(format!("and {} more", open.len() - NAMED));
        }
        let message = format!(
            "{} of {} Machines: {}",
            open.len(),
            machines.len(),
            named.join(", ")
        );
        Desired::new(type_, ConditionStatus::False, Reason::WaitingForNodes, message)
    })
}

fn updating(pool: &NodePool, views: &[View]) -> Desired {
    let old = views
        .iter()
        .filter(|view| !view.up_to_date && !view.deleting)
        .count();
    let management = &pool.spec.management;
    let is_manual = management
        .replace
        .as_ref()
        .is_some_and(|it| it.strategy == UpgradeStrategy::OnDelete);
    let type_ = Type::UpdatingConfig;
    match (old, management.upgrade_type) {
        (0, _) => Desired::new(type_, ConditionStatus::False, Reason::AsExpected, ""),
        (_, UpgradeType::InPlace) => Desired::new(
            type_,
            ConditionStatus::False,
            Reason::OnlyNewMachines,
            format!(
                "upgradeType InPlace: {old} Machines keep what they were made from; only new Machines are made from what changed. \
                 Delete a Machine to have it replaced"
            ),
        ),
        (_, UpgradeType::Replace) if is_manual => Desired::new(
            type_,
            ConditionStatus::True,
            Reason::WaitingForDeletion,
            format!("strategy OnDelete: {old} Machines are replaced when somebody deletes them"),
        ),
        (_, UpgradeType::Replace) => Desired::new(
            type_,
            ConditionStatus::True,
            Reason::RollingOut,
            format!("{old} of {} Machines are to be replaced", views.len()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pool(upgrade_type: &str) -> NodePool {
        serde_json::from_value(json!({
            "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": {"name": "p", "namespace": "clusters"},
            "spec": {"release": {"image": "r:4.20.1"}, "management": {"upgradeType": upgrade_type}},
        }))
        .unwrap()
    }

    fn machine(name: &str, data: &str, conditions: Value) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"name": name, "annotations": {"cluster.x-k8s.io/cloned-from-name": "t"}},
            "spec": {"bootstrap": {"dataSecretName": data}}, "status": {"conditions": conditions, "nodeRef": {"name": name}},
        }))
        .unwrap()
    }

    fn condition(type_: &str, status: &str, message: &str) -> Value {
        json!({"type": type_, "status": status, "reason": "X", "message": message, "lastTransitionTime": "2026-11-22T08:00:00Z"})
    }

    fn reconciled(
        pool: &NodePool,
        machines: &[Machine],
        wanted: usize,
        missing: Option<String>,
    ) -> NodePoolStatus {
        let target = Target {
            data_secret: Some("new".into()),
            template: "t".into(),
        };
        let outcome = Outcome::Reconciled {
            machines,
            target: &target,
            wanted,
            missing,
        };
        status(
            pool,
            &outcome,
            Timestamp::from_timestamp(1_795_000_000, 0).unwrap(),
        )
    }

    fn of<'a>(status: &'a NodePoolStatus, type_: &str) -> (&'a str, &'a str, &'a str) {
        let found = status.conditions.iter().find(|one| one.type_ == type_).unwrap();
        (&found.status, &found.reason, &found.message)
    }

    #[test]
    fn a_pool_says_how_many_nodes_it_has_and_what_the_others_wait_for() {
        let ready = machine("a", "new", json!([condition("Available", "True", "")]));
        let waiting = machine(
            "b",
            "new",
            json!([condition(
                "InfrastructureReady",
                "False",
                "the AgentMachine b waits for an Agent"
            )]),
        );
        let two = reconciled(&pool("Replace"), &[ready.clone(), waiting], 2, None);
        assert_eq!(two.replicas, 1);
        assert_eq!(two.version.as_deref(), Some("4.20.1"));
        assert_eq!(
            of(&two, "Ready"),
            (
                "False",
                "WaitingForNodes",
                "1 of 2 nodes are available; b: the AgentMachine b waits for an Agent"
            )
        );
        let one = reconciled(&pool("Replace"), &[ready], 1, None);
        assert_eq!(of(&one, "Ready").0, "True");
        let none = reconciled(&pool("Replace"), &[], 1, Some("create the Secret".into()));
        assert_eq!(
            of(&none, "Ready"),
            ("False", "UserDataMissing", "create the Secret")
        );
    }

    #[test]
    fn machines_that_are_not_up_to_date_are_rolled_or_named() {
        let old = machine("a", "old", json!([condition("Available", "True", "")]));
        let rolling = reconciled(&pool("Replace"), std::slice::from_ref(&old), 1, None);
        assert_eq!(of(&rolling, "UpdatingConfig").0, "True");
        let in_place = reconciled(&pool("InPlace"), &[old], 1, None);
        assert_eq!(of(&in_place, "UpdatingConfig").1, "OnlyNewMachines");
        assert_eq!(of(&in_place, "Ready").0, "True");
    }
}
