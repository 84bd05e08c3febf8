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
use super::plan::{Upgrade, View};
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
    /// True while Machines are replaced, or their nodes upgraded in place, because bootstrap data, release or template changed.
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
    /// As HyperShift spells it.
    InplaceUpgradeFailed,
    WaitingForDeletion,
    ValidationFailed,
    /// More nodes are unhealthy than may be replaced.
    TooManyUnhealthy,
    ReconciliationPaused,
    Deleting,
}

impl ConditionReason for Reason {
    fn event_type(self, is_new: bool) -> Option<EventType> {
        match self {
            Self::UnsupportedPlatform
            | Self::HostedClusterNotFound
            | Self::UserDataMissing
            | Self::InplaceUpgradeFailed
            | Self::ValidationFailed
            | Self::TooManyUnhealthy => Some(EventType::Warning),
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
        repairs: Repairs<'a>,
    },
}

/// What is noteworthy about repairs.
#[derive(Default)]
pub struct Repairs<'a> {
    /// The reason for which no unhealthy node is replaced.
    pub held: Option<String>,
    /// Annotations that cannot be read.
    pub mistakes: &'a [String],
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
            repairs,
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
            desired.push(updating(pool, machines, &views));
            desired.extend(repairing(pool, repairs));
        }
    }
    for condition in desired {
        conditions::set(&mut next.conditions, condition, now);
    }
    next
}

/// Conditions that depend on the spec alone.
fn fixed(pool: &NodePool) -> Vec<Desired> {
    let auto_repair = pool.spec.management.auto_repair;
    vec![
        autoscaling(pool),
        Desired::new(
            Type::AutorepairEnabled,
            if auto_repair {
                ConditionStatus::True
            } else {
                ConditionStatus::False
            },
            Reason::AsExpected,
            "",
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

/// Whether the size is within limits, as HyperShift words it.
fn autoscaling(pool: &NodePool) -> Desired {
    let type_ = Type::AutoscalingEnabled;
    match (&pool.spec.auto_scaling, desired::check_scaling(pool)) {
        (Some(_), Err(why)) => Desired::new(type_, ConditionStatus::False, Reason::ValidationFailed, why),
        (Some(limits), Ok(())) => Desired::new(
            type_,
            ConditionStatus::True,
            Reason::AsExpected,
            format!(
                "Maximum nodes: {}, Minimum nodes: {}. No autoscaler runs here: within them the number stays as it is",
                limits.max, limits.min
            ),
        ),
        (None, _) => Desired::new(type_, ConditionStatus::False, Reason::AsExpected, ""),
    }
}

/// What keeps unhealthy nodes from being replaced.
fn repairing(pool: &NodePool, repairs: &Repairs<'_>) -> Option<Desired> {
    if !pool.spec.management.auto_repair {
        return None;
    }
    let (reason, mut notes) = match &repairs.held {
        Some(held) => (Reason::TooManyUnhealthy, vec![held.as_str()]),
        None => (Reason::AsExpected, Vec::new()),
    };
    notes.extend(repairs.mistakes.iter().map(String::as_str));
    let type_ = Type::AutorepairEnabled;
    (!notes.is_empty()).then(|| Desired::new(type_, ConditionStatus::True, reason, notes.join("; ")))
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
                format!("{so_far}, {old} are not up to date; {}", waits(&all)),
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
    let updating = of("Updating", "True");
    let deleting = of("Deleting", "True").filter(|_| machine.metadata.deletion_timestamp.is_some());
    let waiting = ["BootstrapConfigReady", "InfrastructureReady", "NodeHealthy"];
    let open = waiting
        .iter()
        .find_map(|type_| of(type_, "False").or_else(|| of(type_, "Unknown")));
    match deleting.or(updating).or(open) {
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

fn updating(pool: &NodePool, machines: &[Machine], views: &[View]) -> Desired {
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
        (_, UpgradeType::InPlace) => in_place(machines, views, old),
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

/// The progress of upgrades in place; `old`: Machines that are not up to date.
fn in_place(machines: &[Machine], views: &[View], old: usize) -> Desired {
    let of = |which: &dyn Fn(&View) -> bool| -> Vec<Machine> {
        let both = machines.iter().zip(views);
        both.filter(|(_, view)| which(view) && !view.deleting)
            .map(|(machine, _)| machine.clone())
            .collect()
    };
    let failed = of(&|view: &View| view.upgrade == Some(Upgrade::Failed { is_present: true }));
    if !failed.is_empty() {
        let named: Vec<String> = failed.iter().take(NAMED).map(upgrade_of).collect();
        return Desired::new(
            Type::UpdatingConfig,
            ConditionStatus::False,
            Reason::InplaceUpgradeFailed,
            format!(
                "{old} of {} Machines are not up to date, and no further one is upgraded in place: {}. Delete the Machine to have it replaced, or \
                 change what the pool is made from to have it tried again",
                views.len(),
                named.join("; ")
            ),
        );
    }
    let running = of(&|view: &View| view.upgrade == Some(Upgrade::Running));
    let named: Vec<String> = running.iter().take(NAMED).map(upgrade_of).collect();
    let what = match named.is_empty() {
        true => "waits for nodes to be available".to_owned(),
        false => named.join("; "),
    };
    Desired::new(
        Type::UpdatingConfig,
        ConditionStatus::True,
        Reason::RollingOut,
        format!("{old} of {} Machines are upgraded in place: {what}", views.len()),
    )
}

/// How far the upgrade in place of a Machine's node is.
fn upgrade_of(machine: &Machine) -> String {
    let mut conditions = machine.status.iter().flat_map(|status| &status.conditions);
    let shown = conditions.find(|one| one.type_ == "Updating");
    let message = shown.map_or("", |one| one.message.as_str());
    match message {
        "" => format!("{} begins", machine.name_any()),
        message => format!("{}: {message}", machine.name_any()),
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
            in_place: pool.spec.management.upgrade_type == UpgradeType::InPlace,
        };
        let outcome = Outcome::Reconciled {
            machines,
            target: &target,
            wanted,
            missing,
            repairs: Repairs::default(),
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
        assert_eq!(of(&in_place, "UpdatingConfig").1, "RollingOut");
        assert_eq!(of(&in_place, "Ready").0, "True");
    }

    #[test]
    fn upgrades_in_place_are_named_with_what_they_wait_for_and_one_that_failed_ends_them() {
        let upgrading = |name: &str, status: &str, reason: &str, data: &str| {
            let upgrade =
                json!({"began": "2026-11-22T07:00:00.000Z", "dataSecretName": data, "template": "t"});
            let mut condition = condition("Updating", status, "why");
            condition["reason"] = reason.into();
            let mut machine = machine(name, "old", json!([condition]));
            let key = muster_resources::names::annotation::IN_PLACE_UPGRADE.to_owned();
            machine.annotations_mut().insert(key, upgrade.to_string());
            machine
        };
        let running = upgrading("a", "True", "InPlaceUpdating", "new");
        let failed = |data: &str| upgrading("b", "False", "InPlaceUpdateFailed", data);
        let pool = pool("InPlace");
        let one = reconciled(&pool, std::slice::from_ref(&running), 1, None);
        assert_eq!(
            of(&one, "UpdatingConfig"),
            (
                "True",
                "RollingOut",
                "1 of 1 Machines are upgraded in place: a: why"
            )
        );
        assert_eq!(of(&one, "Ready").1, "RollingOut");
        let stopped = reconciled(&pool, &[running.clone(), failed("new")], 2, None);
        let (status, reason, message) = of(&stopped, "UpdatingConfig");
        assert_eq!((status, reason), ("False", "InplaceUpgradeFailed"));
        assert!(
            message.contains("b: why") && message.contains("Delete the Machine"),
            "{message}"
        );
        // The pool was changed again.
        let again = reconciled(&pool, &[running, failed("older")], 2, None);
        assert_eq!(of(&again, "UpdatingConfig").1, "RollingOut");
    }

    #[test]
    fn sizes_and_repairs_are_shown_as_hypershift_names_them() {
        let with = |spec: Value| -> NodePool {
            let mut pool = pool("Replace");
            pool.spec.auto_scaling = serde_json::from_value(spec["autoScaling"].clone()).unwrap();
            pool.spec.management.auto_repair = spec["autoRepair"] == true;
            pool
        };
        let off = reconciled(&with(json!({})), &[], 0, None);
        assert_eq!(of(&off, "AutoscalingEnabled"), ("False", "AsExpected", ""));
        assert_eq!(of(&off, "AutorepairEnabled"), ("False", "AsExpected", ""));
        let on = reconciled(
            &with(json!({"autoScaling": {"min": 1, "max": 3}, "autoRepair": true})),
            &[],
            1,
            None,
        );
        let (status, reason, message) = of(&on, "AutoscalingEnabled");
        assert_eq!((status, reason), ("True", "AsExpected"));
        assert!(
            message.starts_with("Maximum nodes: 3, Minimum nodes: 1."),
            "{message}"
        );
        assert_eq!(of(&on, "AutorepairEnabled"), ("True", "AsExpected", ""));
        let bad = reconciled(&with(json!({"autoScaling": {"min": 3, "max": 1}})), &[], 0, None);
        assert_eq!(of(&bad, "AutoscalingEnabled").1, "ValidationFailed");
    }
}
