//! Computes the status of an AgentQuota. Its conditions are those that kstatus reads: `Ready`, and `Stalled` while nothing goes on without a
//! change of a spec.

use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_controller::conditions::ConditionStatus::{False, True};
use muster_controller::conditions::{self, ConditionReason, DesiredCondition};
use muster_core::rules::placement::Usage;
use muster_resources::{AgentQuota, AgentQuotaStatus, StandardCondition};
use strum::{EnumString, IntoStaticStr};

/// Types of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
enum Type {
    Ready,
    /// Those below are present only while they are true.
    Stalled,
    Duplicate,
    Overcommitted,
    AboveLimit,
}

/// Reasons of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    InForce,
    /// An older quota is for the same consumer.
    OlderQuotaCounts,
    /// The selector, or the consumer, cannot be read.
    InvalidSpec,
    /// The reservation is above what older ones leave of the pool.
    ReservedAbovePool,
    /// More Agents are in use than the limit allows.
    UseAboveLimit,
    /// The reason of `Stalled` and `Ready`, which another condition explains.
    SeeOtherConditions,
}

impl ConditionReason for Reason {
    fn event_type(self, is_new: bool) -> Option<EventType> {
        match self {
            Self::OlderQuotaCounts | Self::InvalidSpec | Self::ReservedAbovePool => Some(EventType::Warning),
            Self::UseAboveLimit => Some(EventType::Normal),
            Self::InForce => (!is_new).then_some(EventType::Normal),
            Self::SeeOtherConditions => None,
        }
    }

    fn is_correction(self) -> bool {
        self == Self::InvalidSpec
    }
}

muster_controller::has_conditions!(AgentQuotaStatus, StandardCondition, Reason);

/// The state of a quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Counts(Counted),
    /// The name of the older quota for the same consumer.
    Duplicate(String),
    /// The reason why it cannot be read.
    Invalid(String),
    /// It is not in the cache.
    Unknown,
}

/// The numbers of a quota in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    pub usage: Usage,
    pub reserved: usize,
    pub limit: Option<usize>,
    /// AgentMachines of the consumer without an Agent.
    pub waiting: usize,
}

/// The status from now on; the same as `before` when nothing differs.
pub fn status(
    before: Option<&AgentQuotaStatus>,
    object: &AgentQuota,
    found: &Found,
    now: Timestamp,
) -> AgentQuotaStatus {
    let mut next = before.cloned().unwrap_or_default();
    if *found == Found::Unknown {
        return next;
    }
    let generation = object.metadata.generation;
    next.observed_generation = generation;
    let consumer = object.spec.consumer.machines_namespace();
    next.consumer_namespace = Some(consumer.clone()).filter(|consumer| !consumer.is_empty());
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let counted = match found {
        Found::Counts(counted) => Some(counted),
        Found::Duplicate(_) | Found::Invalid(_) | Found::Unknown => None,
    };
    next.used = counted.map(|counted| number(counted.usage.used));
    next.held = counted.map(|counted| number(counted.usage.held));
    next.waiting = counted.map(|counted| number(counted.waiting));
    let desired = desired(found, &consumer);
    let is_there = |type_: &str| desired.iter().any(|one| <&str>::from(one.type_) == type_);
    next.conditions.retain(|one| is_there(&one.type_));
    for one in desired {
        conditions::set(&mut next.conditions, one, now);
    }
    for condition in &mut next.conditions {
        condition.observed_generation = generation;
    }
    next
}

fn desired(found: &Found, consumer: &str) -> Vec<DesiredCondition<Type, Reason>> {
    let new = |type_, truth, reason, message: String| DesiredCondition::new(type_, truth, reason, message);
    match found {
        Found::Unknown => Vec::new(),
        Found::Invalid(why) => vec![
            new(Type::Ready, False, Reason::InvalidSpec, why.clone()),
            new(Type::Stalled, True, Reason::SeeOtherConditions, why.clone()),
        ],
        Found::Duplicate(older) => {
            let why = format!(
                "The older AgentQuota {older} is for AgentMachines of the namespace {consumer}, too, and counts; delete one of them"
            );
            vec![
                new(Type::Ready, False, Reason::SeeOtherConditions, why.clone()),
                new(Type::Stalled, True, Reason::SeeOtherConditions, why.clone()),
                new(Type::Duplicate, True, Reason::OlderQuotaCounts, why),
            ]
        }
        Found::Counts(counted) => of_counted(counted, consumer),
    }
}

fn of_counted(counted: &Counted, consumer: &str) -> Vec<DesiredCondition<Type, Reason>> {
    let Counted {
        usage,
        reserved,
        limit,
        waiting: _,
    } = counted;
    let is_covered = usage.covered >= *reserved;
    let short = format!(
        "{reserved} Agents are reserved for AgentMachines of the namespace {consumer}, and the pool has {} for that, of {} that these may have: older AgentQuotas come first, and others can take the rest. Boot more machines, or reserve less",
        usage.covered, usage.pool
    );
    let mut all = Vec::new();
    if is_covered {
        let limit = limit.map_or_else(|| "no limit".to_owned(), |limit| format!("at most {limit}"));
        let text =
            format!("Counts for AgentMachines of the namespace {consumer}: {limit}, {reserved} reserved");
        all.push(DesiredCondition::new(Type::Ready, True, Reason::InForce, text));
    } else {
        all.push(DesiredCondition::new(
            Type::Ready,
            False,
            Reason::SeeOtherConditions,
            short.clone(),
        ));
        all.push(DesiredCondition::new(
            Type::Overcommitted,
            True,
            Reason::ReservedAbovePool,
            short,
        ));
    }
    if let Some(limit) = limit.filter(|limit| usage.used > *limit) {
        let text = format!(
            "{} Agents are in use, and {limit} are allowed: none is taken away, and no more are taken before enough were given back",
            usage.used
        );
        all.push(DesiredCondition::new(
            Type::AboveLimit,
            True,
            Reason::UseAboveLimit,
            text,
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use muster_resources::AgentQuotaSpec;
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000, 0).unwrap()
    }

    fn quota() -> AgentQuota {
        let spec: AgentQuotaSpec =
            serde_json::from_value(json!({"consumer": {"namespace": "team"}, "limit": 3, "reserved": 2}))
                .unwrap();
        let mut quota = AgentQuota::new("q", spec);
        quota.metadata.generation = Some(4);
        quota
    }

    fn counted(used: usize, covered: usize) -> Found {
        Found::Counts(Counted {
            usage: Usage {
                used,
                held: 1,
                covered,
                pool: 5,
            },
            reserved: 2,
            limit: Some(3),
            waiting: 6,
        })
    }

    fn shown(status: &AgentQuotaStatus) -> Vec<(&str, &str, &str)> {
        let shown = status.conditions.iter();
        shown
            .map(|one| (one.type_.as_str(), one.status.as_str(), one.reason.as_str()))
            .collect()
    }

    #[test]
    fn a_quota_in_force_is_ready_and_shows_its_numbers() {
        let first = status(None, &quota(), &counted(1, 2), now());
        assert_eq!(shown(&first), [("Ready", "True", "InForce")]);
        assert_eq!(
            (first.used, first.held, first.waiting),
            (Some(1), Some(1), Some(6))
        );
        assert_eq!(first.consumer_namespace.as_deref(), Some("team"));
        assert_eq!(first.observed_generation, Some(4));
        assert_eq!(first.conditions[0].observed_generation, Some(4));
        let again = status(Some(&first), &quota(), &counted(1, 2), now());
        assert_eq!(again, first);
        assert_eq!(status(Some(&first), &quota(), &Found::Unknown, now()), first);
    }

    #[test]
    fn what_is_wrong_is_a_condition_while_it_is() {
        let overcommitted = status(None, &quota(), &counted(4, 1), now());
        assert_eq!(
            shown(&overcommitted),
            [
                ("Ready", "False", "SeeOtherConditions"),
                ("Overcommitted", "True", "ReservedAbovePool"),
                ("AboveLimit", "True", "UseAboveLimit"),
            ]
        );
        let duplicate = Found::Duplicate("old".into());
        let duplicate = status(Some(&overcommitted), &quota(), &duplicate, now());
        assert_eq!(
            shown(&duplicate),
            [
                ("Ready", "False", "SeeOtherConditions"),
                ("Stalled", "True", "SeeOtherConditions"),
                ("Duplicate", "True", "OlderQuotaCounts"),
            ]
        );
        assert_eq!(duplicate.used, None);
        assert!(duplicate.conditions[2].message.contains("AgentQuota old"));
        let good = status(Some(&duplicate), &quota(), &counted(3, 2), now());
        assert_eq!(shown(&good), [("Ready", "True", "InForce")]);
        let invalid = status(Some(&good), &quota(), &Found::Invalid("why".into()), now());
        assert_eq!(
            shown(&invalid),
            [
                ("Ready", "False", "InvalidSpec"),
                ("Stalled", "True", "SeeOtherConditions"),
            ]
        );
    }
}
