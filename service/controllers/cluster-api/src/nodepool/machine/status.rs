//! Computes the status of a Machine. Source: Cluster API v1.11, internal/controllers/machine/machine_controller_status.go.

use chrono::TimeDelta;
use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_controller::conditions::{self, ConditionReason, ConditionStatus, time};
use muster_resources::StandardCondition;
use muster_resources::cluster_api::{
    MachineAddress, MachineDeletionTimes, MachineInitialization, MachineStatus, NodeReference,
};
use serde_json::{Map, Value};
use strum::{EnumString, IntoStaticStr};

/// Types of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
pub enum Type {
    Available,
    Ready,
    /// Set by the NodePool of the Machine.
    UpToDate,
    /// True while its node is upgraded in place.
    Updating,
    /// False when its NodePool replaces it because its node is unhealthy; as a MachineHealthCheck sets it.
    HealthCheckSucceeded,
    BootstrapConfigReady,
    InfrastructureReady,
    NodeReady,
    NodeHealthy,
    Deleting,
    Paused,
}

/// Reasons of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    Available,
    NotAvailable,
    WaitingForMinReadySeconds,
    Ready,
    NotReady,
    ReadyUnknown,
    UpToDate,
    NotUpToDate,
    NotUpdating,
    InPlaceUpdating,
    InPlaceUpdateFailed,
    UnhealthyNode,
    NodeStartupTimeout,
    DataSecretProvided,
    DataSecretMissing,
    DoesNotExist,
    Deleted,
    NodeReady,
    NodeNotReady,
    NodeReadyUnknown,
    NodeHealthy,
    NodeNotHealthy,
    NodeHealthyUnknown,
    NodeDoesNotExist,
    ConnectionDown,
    NotDeleting,
    WaitingForPreDrainHook,
    DrainingNode,
    WaitingForPreTerminateHook,
    WaitingForInfrastructureDeletion,
    DeletingNode,
    DeletionCompleted,
    Paused,
    NotPaused,
}

impl ConditionReason for Reason {
    fn event_type(self, is_new: bool) -> Option<EventType> {
        match self {
            Self::DataSecretMissing
            | Self::Deleted
            | Self::NodeNotHealthy
            | Self::ConnectionDown
            | Self::InPlaceUpdateFailed
            | Self::UnhealthyNode
            | Self::NodeStartupTimeout => Some(EventType::Warning),
            Self::Available
            | Self::Ready
            | Self::NodeHealthy
            | Self::NotUpToDate
            | Self::InPlaceUpdating
            | Self::Paused
            | Self::WaitingForPreDrainHook
            | Self::DrainingNode
            | Self::WaitingForPreTerminateHook
            | Self::WaitingForInfrastructureDeletion
            | Self::DeletingNode => Some(EventType::Normal),
            Self::NotReady | Self::NotAvailable if !is_new => Some(EventType::Normal),
            _ => None,
        }
    }
}

muster_controller::has_conditions!(MachineStatus, StandardCondition, Reason);

type Desired = conditions::DesiredCondition<Type, Reason>;

/// The infrastructure object of a Machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Infrastructure {
    /// The object does not exist (yet).
    Absent(String),
    /// The object waits: the reason.
    Waiting(String),
    /// The host is installed.
    Provisioned,
}

/// The Node of a Machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// The Node cannot exist yet.
    NotAwaited,
    /// The Node does not exist: the reason, as far as it is known.
    Absent(String),
    /// The cluster does not respond, or there is no kubeconfig: the reason.
    Unreachable(String),
    Found {
        name: String,
        info: Option<Map<String, Value>>,
        /// The condition `Ready`; `None`: unknown.
        ready: Option<bool>,
        /// The problems that the Node reports.
        problems: Vec<String>,
    },
}

/// Facts about a Machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// `Err`: what is missing and what to do.
    pub bootstrap: Result<(), String>,
    pub infrastructure: Infrastructure,
    pub addresses: Vec<MachineAddress>,
    pub node: Node,
}

/// The present step of a Machine's deletion.
#[derive(Debug, Clone, PartialEq)]
pub struct Deleting {
    pub reason: Reason,
    pub message: String,
    pub times: Option<MachineDeletionTimes>,
}

/// The upgrade in place of a Machine's node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Updating {
    pub status: ConditionStatus,
    pub reason: Reason,
    pub message: String,
}

impl Updating {
    pub fn has_failed(&self) -> bool {
        self.reason == Reason::InPlaceUpdateFailed
    }
}

/// Takes the condition about upgrades in place away, so that the next one has a time of its own.
pub fn forget_update(status: &mut MachineStatus) {
    let name: &str = Type::Updating.into();
    status.conditions.retain(|one| one.type_ != name);
}

/// Shows the upgrade in place; `None`: there is none.
pub fn update(status: &mut MachineStatus, updating: Option<Updating>, now: Timestamp) {
    let name: &str = Type::Updating.into();
    let was_shown = status.conditions.iter().any(|one| one.type_ == name);
    let desired = match updating {
        Some(it) => Desired::new(Type::Updating, it.status, it.reason, it.message),
        None if was_shown => Desired::new(Type::Updating, ConditionStatus::False, Reason::NotUpdating, ""),
        None => return,
    };
    conditions::set(&mut status.conditions, desired, now);
}

/// Returns the status of a Machine that is not being deleted.
pub fn status(
    before: Option<&MachineStatus>,
    facts: &Facts,
    min_ready: TimeDelta,
    generation: Option<i64>,
    now: Timestamp,
) -> MachineStatus {
    let mut next = before.cloned().unwrap_or_default();
    next.observed_generation = generation;
    next.addresses.clone_from(&facts.addresses);
    let initialization = next.initialization.get_or_insert_default();
    once(
        &mut initialization.bootstrap_data_secret_created,
        facts.bootstrap.is_ok(),
    );
    once(
        &mut initialization.infrastructure_provisioned,
        facts.infrastructure == Infrastructure::Provisioned,
    );
    let provisioned = initialization.infrastructure_provisioned == Some(true);
    if let Node::Found { name, info, .. } = &facts.node {
        next.node_ref = Some(NodeReference { name: name.clone() });
        next.node_info.clone_from(info);
    }
    if *initialization == MachineInitialization::default() {
        next.initialization = None;
    }
    let phase = match facts {
        _ if next.node_ref.is_some() && provisioned => "Running",
        _ if provisioned => "Provisioned",
        Facts {
            bootstrap: Ok(()), ..
        } => "Provisioning",
        _ => "Pending",
    };
    set_phase(&mut next, phase, now);

    let list = &mut next.conditions;
    for condition in [bootstrap(facts), infrastructure(facts)]
        .into_iter()
        .chain(node(facts))
    {
        conditions::set(list, condition, now);
    }
    let not_deleting = Desired::new(Type::Deleting, ConditionStatus::False, Reason::NotDeleting, "");
    conditions::set(list, not_deleting, now);
    conditions::set(list, not_paused(), now);
    summarize(list, min_ready, now);
    next
}

/// Returns the status of a Machine that is being deleted.
pub fn deleting(
    before: Option<&MachineStatus>,
    step: &Deleting,
    generation: Option<i64>,
    now: Timestamp,
) -> MachineStatus {
    let mut next = before.cloned().unwrap_or_default();
    next.observed_generation = generation;
    if step.times.is_some() {
        next.deletion.clone_from(&step.times);
    }
    set_phase(&mut next, "Deleting", now);
    let condition = Desired::new(Type::Deleting, ConditionStatus::True, step.reason, &step.message);
    conditions::set(&mut next.conditions, condition, now);
    conditions::set(&mut next.conditions, not_paused(), now);
    summarize(&mut next.conditions, TimeDelta::zero(), now);
    next
}

/// Returns the status of a Machine that is paused.
pub fn paused(before: Option<&MachineStatus>, why: &str, now: Timestamp) -> MachineStatus {
    let mut next = before.cloned().unwrap_or_default();
    let condition = Desired::new(Type::Paused, ConditionStatus::True, Reason::Paused, why);
    conditions::set(&mut next.conditions, condition, now);
    next
}

fn not_paused() -> Desired {
    Desired::new(Type::Paused, ConditionStatus::False, Reason::NotPaused, "")
}

/// Sets `done`, which stays true once it is.
fn once(done: &mut Option<bool>, is_done: bool) {
    if is_done {
        *done = Some(true);
    }
}

fn set_phase(status: &mut MachineStatus, phase: &str, now: Timestamp) {
    if status.phase.as_deref() != Some(phase) {
        status.phase = Some(phase.to_owned());
        status.last_updated = Some(time(now));
    }
}

fn bootstrap(facts: &Facts) -> Desired {
    let type_ = Type::BootstrapConfigReady;
    match &facts.bootstrap {
        Ok(()) => Desired::new(type_, ConditionStatus::True, Reason::DataSecretProvided, ""),
        Err(why) => Desired::new(type_, ConditionStatus::False, Reason::DataSecretMissing, why),
    }
}

fn infrastructure(facts: &Facts) -> Desired {
    let type_ = Type::InfrastructureReady;
    match &facts.infrastructure {
        Infrastructure::Provisioned => Desired::new(type_, ConditionStatus::True, Reason::Ready, ""),
        Infrastructure::Waiting(what) => Desired::new(type_, ConditionStatus::False, Reason::NotReady, what),
        Infrastructure::Absent(why) => Desired::new(type_, ConditionStatus::False, Reason::DoesNotExist, why),
    }
}

fn node(facts: &Facts) -> [Desired; 2] {
    let both = |status, reason: Reason, message: &str| {
        [Type::NodeReady, Type::NodeHealthy].map(|type_| Desired::new(type_, status, reason, message))
    };
    match &facts.node {
        Node::NotAwaited => both(
            ConditionStatus::False,
            Reason::NodeDoesNotExist,
            "its host is not installed yet",
        ),
        Node::Absent(why) => both(ConditionStatus::False, Reason::NodeDoesNotExist, why),
        Node::Unreachable(why) => both(ConditionStatus::Unknown, Reason::ConnectionDown, why),
        Node::Found {
            name,
            ready,
            problems,
            ..
        } => [
            match ready {
                Some(true) => Desired::new(Type::NodeReady, ConditionStatus::True, Reason::NodeReady, ""),
                Some(false) => Desired::new(
                    Type::NodeReady,
                    ConditionStatus::False,
                    Reason::NodeNotReady,
                    format!("the Node {name} is not ready"),
                ),
                None => Desired::new(
                    Type::NodeReady,
                    ConditionStatus::Unknown,
                    Reason::NodeReadyUnknown,
                    format!("the kubelet of the Node {name} does not report"),
                ),
            },
            match (ready, problems.is_empty()) {
                (Some(true), true) => {
                    Desired::new(Type::NodeHealthy, ConditionStatus::True, Reason::NodeHealthy, "")
                }
                (None, _) => Desired::new(
                    Type::NodeHealthy,
                    ConditionStatus::Unknown,
                    Reason::NodeHealthyUnknown,
                    problems.join("; "),
                ),
                _ => Desired::new(
                    Type::NodeHealthy,
                    ConditionStatus::False,
                    Reason::NodeNotHealthy,
                    problems.join("; "),
                ),
            },
        ],
    }
}

/// Sets `Ready` and `Available` from the other conditions.
fn summarize(list: &mut Vec<StandardCondition>, min_ready: TimeDelta, now: Timestamp) {
    let of = |type_: Type| {
        let name: &str = type_.into();
        list.iter().find(|condition| condition.type_ == name)
    };
    let mut missing = Vec::new();
    let mut is_unknown_only = true;
    for type_ in [
        Type::Deleting,
        Type::BootstrapConfigReady,
        Type::InfrastructureReady,
        Type::NodeHealthy,
    ] {
        let Some(condition) = of(type_) else { continue };
        let good = if type_ == Type::Deleting { "False" } else { "True" };
        if condition.status == good {
            continue;
        }
        is_unknown_only &= condition.status == "Unknown";
        let name: &str = type_.into();
        let message = match condition.message.as_str() {
            "" => &condition.reason,
            message => message,
        };
        missing.push(format!("* {name}: {message}"));
    }
    let ready = match (missing.is_empty(), is_unknown_only) {
        (true, _) => Desired::new(Type::Ready, ConditionStatus::True, Reason::Ready, ""),
        (false, true) => Desired::new(
            Type::Ready,
            ConditionStatus::Unknown,
            Reason::ReadyUnknown,
            missing.join("\n"),
        ),
        (false, false) => Desired::new(
            Type::Ready,
            ConditionStatus::False,
            Reason::NotReady,
            missing.join("\n"),
        ),
    };
    conditions::set(list, ready, now);
    let is_ready = missing.is_empty();
    let since = list.iter().find(|condition| condition.type_ == "Ready");
    let is_long = since.is_some_and(|since| {
        since.last_transition_time.0.as_second() + min_ready.num_seconds() <= now.timestamp()
    });
    let available = match (is_ready, is_long) {
        (true, true) => Desired::new(Type::Available, ConditionStatus::True, Reason::Available, ""),
        (true, false) => Desired::new(
            Type::Available,
            ConditionStatus::False,
            Reason::WaitingForMinReadySeconds,
            "",
        ),
        (false, _) => Desired::new(
            Type::Available,
            ConditionStatus::False,
            Reason::NotAvailable,
            "it is not ready",
        ),
    };
    conditions::set(list, available, now);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap()
    }

    fn facts(bootstrap: bool, infrastructure: Infrastructure, node: Node) -> Facts {
        Facts {
            bootstrap: bootstrap.then_some(()).ok_or_else(|| "create the Secret".into()),
            infrastructure,
            addresses: Vec::new(),
            node,
        }
    }

    fn found(ready: Option<bool>) -> Node {
        Node::Found {
            name: "n".into(),
            info: None,
            ready,
            problems: Vec::new(),
        }
    }

    fn of<'a>(status: &'a MachineStatus, type_: &str) -> (&'a str, &'a str) {
        let condition = status.conditions.iter().find(|one| one.type_ == type_).unwrap();
        (condition.status.as_str(), condition.reason.as_str())
    }

    #[test]
    fn a_machine_goes_through_its_phases_and_says_what_it_waits_for() {
        use Infrastructure::{Absent, Provisioned, Waiting};
        let steps = [
            (
                facts(false, Absent("none".into()), Node::NotAwaited),
                "Pending",
                "NotReady",
            ),
            (
                facts(true, Waiting("no Agent".into()), Node::NotAwaited),
                "Provisioning",
                "NotReady",
            ),
            (
                facts(true, Provisioned, Node::Absent("none".into())),
                "Provisioned",
                "NotReady",
            ),
            (
                facts(true, Provisioned, found(Some(false))),
                "Running",
                "NotReady",
            ),
            (facts(true, Provisioned, found(Some(true))), "Running", "Ready"),
            (
                facts(true, Provisioned, Node::Unreachable("down".into())),
                "Running",
                "ReadyUnknown",
            ),
        ];
        let mut before: Option<MachineStatus> = None;
        for (second, (facts, phase, ready)) in steps.iter().enumerate() {
            let second = i64::try_from(second).unwrap();
            let next = status(before.as_ref(), facts, TimeDelta::zero(), Some(1), at(second));
            assert_eq!(next.phase.as_deref(), Some(*phase), "{facts:?}");
            assert_eq!(of(&next, "Ready").1, *ready, "{facts:?}");
            assert_eq!(
                status(Some(&next), facts, TimeDelta::zero(), Some(1), at(second + 60)),
                next
            );
            before = Some(next);
        }
        let last = before.unwrap();
        assert_eq!(last.node_ref.as_ref().unwrap().name, "n");
        assert_eq!(of(&last, "NodeHealthy"), ("Unknown", "ConnectionDown"));

        let step = Deleting {
            reason: Reason::WaitingForPreTerminateHook,
            message: "waits for agentmachine".into(),
            times: None,
        };
        let going = deleting(Some(&last), &step, Some(2), at(90));
        assert_eq!(going.phase.as_deref(), Some("Deleting"));
        assert_eq!(of(&going, "Deleting"), ("True", "WaitingForPreTerminateHook"));
        assert_eq!(of(&going, "Ready").0, "False");
    }

    #[test]
    fn a_machine_is_available_when_it_is_ready_for_long_enough() {
        let facts = facts(true, Infrastructure::Provisioned, found(Some(true)));
        let wait = TimeDelta::seconds(30);
        let first = status(None, &facts, wait, None, at(0));
        assert_eq!(of(&first, "Available"), ("False", "WaitingForMinReadySeconds"));
        let later = status(Some(&first), &facts, wait, None, at(30));
        assert_eq!(of(&later, "Available"), ("True", "Available"));
    }
}
