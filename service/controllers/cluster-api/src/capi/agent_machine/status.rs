//! Computes the status of an AgentMachine. Source: docs/protocol/capi-agent-provider.md#2.1.

use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_controller::conditions::ConditionStatus::{False, True};
use muster_controller::conditions::{self, ConditionReason, DesiredCondition, ListedCondition};
use muster_controller::health::{self, Sign};
use muster_core::rules::placement::Rest;
use muster_resources::{
    AgentMachineStatus, AgentReference, Condition, Initialization, Reinstall, StandardCondition,
};
use strum::{EnumString, IntoStaticStr};

use super::reservation::{Reserved, is_said, reserved, set_candidates};
use crate::capi::addresses::{HOST_NAME, addresses};
use crate::capi::agents::AgentView;

/// Longest message taken over from another object, characters: the limit of the CRD (32,768) and room for what is added.
const LONGEST_MESSAGE: usize = 32_000;

/// States of hosts from the request to install them on: the name of then is that of their nodes.
const NAMED: [&str; 5] = [
    "installing",
    "installing-in-progress",
    "installing-pending-user-action",
    "added-to-existing-cluster",
    "error",
];

/// Types of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
pub enum Type {
    /// Summary of the five below.
    Ready,
    AgentRequirementsMet,
    AgentReserved,
    AgentSpecSynced,
    AgentValidated,
    Installed,
    /// Present only while the AgentMachine is being deleted.
    Deleting,
    /// Present only while the object is paused.
    Paused,
}

/// Conditions of the Agent that are shown, by their types there and here.
const MIRRORED: [(&str, Type); 4] = [
    ("RequirementsMet", Type::AgentRequirementsMet),
    ("SpecSynced", Type::AgentSpecSynced),
    ("Validated", Type::AgentValidated),
    ("Installed", Type::Installed),
];

/// Reasons of conditions. Reasons of Agents are passed on in addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    NoSuitableAgents,
    AgentNotYetFound,
    AgentReserved,
    AgentConditionTrue,
    ConditionNotFound,
    IssuesReported,
    InfoReported,
    WaitingForMachine,
    WaitingForAgent,
    Paused,
    /// The host was started from its disk, and the rest is its cluster's.
    HostStarted,
    /// The host was asleep, and its management controller boots it.
    HostWaking,
    /// The reason is taken over from the Agent.
    InstallationFailed,
}

/// An AgentMachine that waits is shown by `Ready` alone; so is one for which there is no Agent yet.
const SIGNS: [Sign; 3] = [
    Sign::stalled("Installed", "False", &["InstallationFailed"]),
    Sign::stalled("AgentSpecSynced", "False", &["InputError"]),
    Sign::stalled(
        "AgentValidated",
        "False",
        &["ValidationsFailing", "ValidationsUserPending"],
    ),
];

impl ConditionReason for Reason {
    fn event_type(self, is_new: bool) -> Option<EventType> {
        match self {
            Self::NoSuitableAgents | Self::InstallationFailed | Self::WaitingForMachine => {
                Some(EventType::Warning)
            }
            Self::AgentReserved
            | Self::InfoReported
            | Self::HostStarted
            | Self::HostWaking
            | Self::WaitingForAgent => Some(EventType::Normal),
            Self::AgentNotYetFound => (!is_new).then_some(EventType::Normal),
            Self::AgentConditionTrue | Self::ConditionNotFound | Self::IssuesReported | Self::Paused => None,
        }
    }
}

muster_controller::has_conditions!(AgentMachineStatus, StandardCondition, Reason);

/// An AgentMachine's state.
#[derive(Debug)]
pub struct Found<'a> {
    pub reserved: Reserved,
    /// The Agent that was taken, if it exists.
    pub agent: Option<&'a AgentView>,
    /// True if its host was started from its disk, and counts as provisioned for that.
    pub has_started: bool,
    /// The request to install its host again.
    pub reinstall: Option<Reinstall>,
    pub generation: Option<i64>,
}

/// The status from now on; the same as `before` when nothing differs.
pub fn status(before: Option<&AgentMachineStatus>, found: &Found<'_>, now: Timestamp) -> AgentMachineStatus {
    let mut next = before.cloned().unwrap_or_default();
    set_candidates(&mut next, &found.reserved);
    next.reinstall.clone_from(&found.reinstall);
    if let Reserved::Taken { agent, .. } = &found.reserved {
        next.agent_ref = Some(AgentReference {
            name: agent.name.clone(),
            namespace: agent.namespace.clone(),
        });
    }
    if let Some(agent) = found.agent {
        // A node that is installed again keeps its name.
        let is_named = NAMED.contains(&agent.state.as_str()) || found.reinstall.is_some();
        // A host that boots reports its addresses again; the former ones are kept until then. Its Node is found by the name.
        let told = next
            .addresses
            .iter()
            .find(|one| one.type_ == HOST_NAME && is_named);
        let name = told.map(|one| one.address.as_str()).or(agent.hostname.as_deref());
        let found = addresses(&agent.interfaces, name);
        if !found.is_empty() {
            next.addresses = found;
        }
        next.failure_domain = agent.candidate.zone().map(str::to_owned);
    }
    let mut list = std::mem::take(&mut next.conditions);
    for type_ in [Type::Deleting, Type::Paused] {
        conditions::remove(&mut list, type_);
    }
    if !is_said(&list, &found.reserved) {
        conditions::set(&mut list, reserved(&found.reserved), now);
    }
    for (of_agent, type_) in MIRRORED {
        let shown = mirrored(of_agent, type_, found.agent, now);
        let is_replaced = type_ == Type::Installed && found.has_started && shown.status != "True";
        let shown = if is_replaced { started(&shown, now) } else { shown };
        let shown = match found.agent.and_then(waking) {
            Some(why) if type_ == Type::Installed => is_woken(why, now),
            _ => shown,
        };
        conditions::put(&mut list, shown);
    }
    let ready = summary(&list);
    conditions::set(&mut list, ready, now);
    next.conditions = in_order(list, found.generation);
    // Cluster API does not expect it back.
    next.ready = was_provisioned(before) || is_true(&next.conditions, Type::Ready);
    next.initialization = Some(Initialization {
        provisioned: Some(next.ready),
    });
    next
}

fn was_provisioned(before: Option<&AgentMachineStatus>) -> bool {
    before.is_some_and(|before| {
        let contract = before.initialization.as_ref();
        before.ready || contract.is_some_and(|it| it.provisioned == Some(true))
    })
}

/// The condition `Installed` of a host that was started from its disk; `of_agent`: the Agent's.
fn started(of_agent: &StandardCondition, now: Timestamp) -> StandardCondition {
    let message = format!("The host was started from its disk. {}", of_agent.message);
    let message: String = message.chars().take(LONGEST_MESSAGE).collect();
    StandardCondition::new(
        Type::Installed.into(),
        "True",
        Reason::HostStarted.into(),
        message,
        now,
    )
}

/// The reason why the host of the Agent is woken; `None`: it is awake.
fn waking(agent: &AgentView) -> Option<&str> {
    let is_waking = matches!(agent.candidate.rest, Rest::Waking | Rest::Asleep);
    is_waking.then(|| agent.sleep.as_deref().unwrap_or_default())
}

/// The condition `Installed` while the host is woken.
fn is_woken(why: &str, now: Timestamp) -> StandardCondition {
    let message = format!(
        "The host was asleep, and is booted. {why}. If it does not come in time, it goes into quarantine and another Agent is taken"
    );
    let message: String = message.chars().take(LONGEST_MESSAGE).collect();
    StandardCondition::new(
        Type::Installed.into(),
        "False",
        Reason::HostWaking.into(),
        message,
        now,
    )
}

/// True when the AgentMachine is ready and its host is installed: a host that counts as provisioned before may fail yet, which the
/// conditions then show.
pub fn is_settled(status: &AgentMachineStatus) -> bool {
    let started: &str = Reason::HostStarted.into();
    let installed: &str = Type::Installed.into();
    let mut conditions = status.conditions.iter();
    let installed = conditions.find(|one| one.type_ == installed);
    status.ready && installed.is_some_and(|one| one.status == "True" && one.reason != started)
}

/// Updates the summary from the other conditions, and what generic programs read.
pub fn summarize(status: &mut AgentMachineStatus, now: Timestamp) {
    let ready = summary(&status.conditions);
    conditions::set(&mut status.conditions, ready, now);
    health::show(&mut status.conditions, &SIGNS, now);
}

/// True if two statuses differ at most in the reasons why Agents are not taken.
pub fn differs_in_reasons_only(before: Option<&AgentMachineStatus>, next: &AgentMachineStatus) -> bool {
    let without_reasons = |status: &AgentMachineStatus| {
        let mut status = status.clone();
        status.candidates.clear();
        status.candidates_omitted = None;
        status.candidate_reasons.clear();
        for condition in &mut status.conditions {
            condition.message.clear();
        }
        status
    };
    next.agent_ref.is_none() && before.is_some_and(|before| without_reasons(before) == without_reasons(next))
}

/// Returns `before` with one more condition, about this generation, while nothing else is read.
pub fn with_notice(
    before: Option<&AgentMachineStatus>,
    (type_, reason): (Type, Reason),
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) -> AgentMachineStatus {
    let mut next = before.cloned().unwrap_or_default();
    let desired = DesiredCondition::new(type_, True, reason, message);
    conditions::set(&mut next.conditions, desired, now);
    let name: &str = type_.into();
    for condition in next.conditions.iter_mut().filter(|one| one.type_ == name) {
        condition.observed_generation = generation;
    }
    next
}

/// Returns `before` without the Agent, which was given back for that reason.
pub fn given_back(
    before: Option<&AgentMachineStatus>,
    why: &str,
    generation: Option<i64>,
    now: Timestamp,
) -> AgentMachineStatus {
    let mut next = AgentMachineStatus {
        agent_ref: None,
        addresses: Vec::new(),
        failure_domain: None,
        ..before.cloned().unwrap_or_default()
    };
    let desired = DesiredCondition::new(Type::AgentReserved, False, Reason::AgentNotYetFound, why);
    conditions::set(&mut next.conditions, desired, now);
    let list = std::mem::take(&mut next.conditions);
    next.conditions = in_order(list, generation);
    next
}

/// Returns `before` without that condition.
pub fn without_notice(before: &AgentMachineStatus, type_: Type) -> AgentMachineStatus {
    let mut next = before.clone();
    conditions::remove(&mut next.conditions, type_);
    next
}

/// True when the list has a condition of this type that is true.
pub fn is_true(list: &[StandardCondition], type_: Type) -> bool {
    let type_: &str = type_.into();
    list.iter().any(|one| one.type_ == type_ && one.status == "True")
}

fn mirrored(of_agent: &str, type_: Type, agent: Option<&AgentView>, now: Timestamp) -> StandardCondition {
    let new = |status: &str, reason: &str, message: String| {
        StandardCondition::new(type_.into(), status, reason, message, now)
    };
    let Some(agent) = agent else {
        return new(
            "False",
            Reason::AgentNotYetFound.into(),
            "There is no Agent yet".into(),
        );
    };
    match agent.condition(of_agent) {
        None => new(
            "False",
            Reason::ConditionNotFound.into(),
            format!("The Agent has no condition {of_agent} yet"),
        ),
        Some(found) if found.status == "True" => {
            new("True", Reason::AgentConditionTrue.into(), message_of(found))
        }
        Some(found) => new("False", &acceptable(found.reason.as_deref()), message_of(found)),
    }
}

fn message_of(condition: &Condition) -> String {
    let message = condition.message.as_deref().unwrap_or_default();
    message.chars().take(LONGEST_MESSAGE).collect()
}

/// The reason in a form that the API server accepts. That of an Agent may be empty, or a sentence.
fn acceptable(reason: Option<&str>) -> String {
    let reason = reason.unwrap_or_default();
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':');
    let kept: String = reason.chars().filter(|c| known(*c)).take(1024).collect();
    let kept = kept.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let kept = kept.trim_end_matches([',', ':']);
    if kept.is_empty() {
        "ReasonNotGiven".into()
    } else {
        kept.to_owned()
    }
}

fn summary(list: &[StandardCondition]) -> DesiredCondition<Type, Reason> {
    let parts = [
        Type::AgentRequirementsMet,
        Type::AgentReserved,
        Type::AgentSpecSynced,
        Type::AgentValidated,
        Type::Installed,
    ];
    let of = |type_: Type| {
        let name: &str = type_.into();
        list.iter().find(|one| one.type_ == name)
    };
    let issues: Vec<String> = parts
        .into_iter()
        .filter_map(of)
        .filter(|one| one.status != "True")
        .map(|one| {
            let text = if one.message.is_empty() {
                &one.reason
            } else {
                &one.message
            };
            format!("* {}: {text}", one.type_)
        })
        .collect();
    if issues.is_empty() {
        return DesiredCondition::new(Type::Ready, True, Reason::InfoReported, "");
    }
    let message: String = issues.join("\n").chars().take(LONGEST_MESSAGE).collect();
    DesiredCondition::new(Type::Ready, False, Reason::IssuesReported, message)
}

/// Sorts the conditions: `Ready` first, the rest by name.
fn in_order(mut list: Vec<StandardCondition>, generation: Option<i64>) -> Vec<StandardCondition> {
    list.sort_by(|a, b| {
        let key = |one: &StandardCondition| (one.type_ != "Ready", one.type_.clone());
        key(a).cmp(&key(b))
    });
    for condition in &mut list {
        condition.observed_generation = generation;
    }
    list
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use muster_core::record::KubeRef;
    use muster_core::rules::placement::NotTaken;

    fn now() -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000, 0).unwrap()
    }

    fn agent(conditions: &Value) -> AgentView {
        serde_json::from_value(json!({
            "metadata": {"name": "a", "namespace": "hardware"}, "spec": {"approved": true, "role": ""},
            "status": {"conditions": conditions, "inventory": {"hostname": "w0", "interfaces": [
                {"hasCarrier": true, "ipV4Addresses": ["192.0.2.1/24"], "ipV6Addresses": []},
            ]}},
        }))
        .unwrap()
    }

    fn found(agent: &AgentView, has_started: bool) -> Found<'_> {
        Found {
            reserved: Reserved::Taken {
                agent: agent.candidate.host.clone(),
                others: None,
            },
            agent: Some(agent),
            has_started,
            reinstall: None,
            generation: Some(3),
        }
    }

    fn taken(agent: &AgentView) -> AgentMachineStatus {
        status(None, &found(agent, false), now())
    }

    fn find<'a>(status: &'a AgentMachineStatus, type_: &str) -> &'a StandardCondition {
        status.conditions.iter().find(|one| one.type_ == type_).unwrap()
    }

    #[test]
    fn the_name_of_the_request_to_install_is_the_machines_whatever_is_said_afterwards() {
        let mut agent = agent(&json!([]));
        let name = |status: &AgentMachineStatus| {
            let mut names = status.addresses.iter().filter(|one| one.type_ == HOST_NAME);
            names.next().map(|one| one.address.clone())
        };
        let next = |before: Option<&AgentMachineStatus>, agent: &AgentView| {
            status(before, &found(agent, false), now())
        };
        agent.state = "known".into();
        let first = next(None, &agent);
        assert_eq!(name(&first).as_deref(), Some("w0"));
        agent.hostname = Some("w1".into());
        let renamed = next(Some(&first), &agent);
        assert_eq!(name(&renamed).as_deref(), Some("w1"));
        agent.hostname = Some("another-node".into());
        for state in NAMED {
            agent.state = state.into();
            assert_eq!(
                name(&next(Some(&renamed), &agent)).as_deref(),
                Some("w1"),
                "{state}"
            );
            assert_eq!(
                name(&next(None, &agent)).as_deref(),
                Some("another-node"),
                "{state}"
            );
        }
    }

    #[test]
    fn it_is_ready_when_all_that_the_agent_says_is_true() {
        let all = ["SpecSynced", "Validated", "RequirementsMet", "Installed"];
        let all_true: Vec<Value> = all
            .iter()
            .map(|type_| json!({"type": type_, "status": "True"}))
            .collect();
        let done = taken(&agent(&json!(all_true)));
        assert!(is_settled(&done));
        assert!(
            done.ready
                && done.initialization
                    == Some(Initialization {
                        provisioned: Some(true)
                    })
        );
        let types: Vec<_> = done.conditions.iter().map(|one| one.type_.as_str()).collect();
        assert_eq!(
            types,
            [
                "Ready",
                "AgentRequirementsMet",
                "AgentReserved",
                "AgentSpecSynced",
                "AgentValidated",
                "Installed"
            ]
        );
        assert!(
            done.conditions
                .iter()
                .all(|one| one.status == "True" && one.observed_generation == Some(3))
        );
        assert_eq!(find(&done, "Ready").reason, "InfoReported");
        assert_eq!(done.addresses.len(), 4);
        // Any one of them missing is enough.
        for missing in 0..all.len() {
            let mut some = all_true.clone();
            some.remove(missing);
            assert!(!taken(&agent(&json!(some))).ready);
        }
    }

    #[test]
    fn a_host_that_was_started_is_enough_where_the_reboot_counts_and_nothing_takes_that_back() {
        let mut conditions = vec![
            json!({"type": "Installed", "status": "False", "reason": "InstallationInProgress", "message": "It goes on."}),
        ];
        let fit = ["SpecSynced", "Validated", "RequirementsMet"];
        conditions.extend(fit.map(|type_| json!({"type": type_, "status": "True"})));
        let agent = agent(&json!(conditions));
        let next = |before: Option<&AgentMachineStatus>, has_started| {
            status(before, &found(&agent, has_started), now())
        };
        assert!(!next(None, false).ready);
        let started = next(None, true);
        assert!(started.ready);
        let installed = find(&started, "Installed");
        assert_eq!(
            (installed.status.as_str(), installed.reason.as_str()),
            ("True", "HostStarted")
        );
        assert!(
            installed.message.ends_with("It goes on."),
            "{}",
            installed.message
        );
        assert_eq!(find(&started, "Ready").status, "True");
        let later = next(Some(&started), false);
        assert!(later.ready && later.initialization == started.initialization);
        // What becomes of the host is still shown.
        assert!(!is_settled(&started) && !is_settled(&later));
        assert_eq!(find(&later, "Ready").status, "False");
    }

    #[test]
    fn an_agents_reason_is_passed_on_in_a_form_that_the_api_server_accepts() {
        let status = taken(&agent(&json!([
            {"type": "SpecSynced", "status": "False", "reason": "InputError", "message": "correct it"},
            {"type": "Validated", "status": "Unknown", "reason": ""},
            {"type": "RequirementsMet", "status": "Unknown", "reason": "is not ready: 1."},
        ])));
        let of = |type_| {
            let found = find(&status, type_);
            (found.status.as_str(), found.reason.as_str())
        };
        assert_eq!(of("AgentSpecSynced"), ("False", "InputError"));
        assert_eq!(of("AgentValidated"), ("False", "ReasonNotGiven"));
        assert_eq!(of("AgentRequirementsMet"), ("False", "isnotready:1"));
        assert_eq!(of("Installed"), ("False", "ConditionNotFound"));
        let ready = find(&status, "Ready");
        assert_eq!(ready.reason, "IssuesReported");
        assert!(
            ready
                .message
                .starts_with("* AgentRequirementsMet: isnotready:1\n* AgentSpecSynced: correct it\n")
        );
    }

    #[test]
    fn every_agent_that_was_not_taken_is_named_with_its_reason_up_to_a_limit() {
        let others = (0..30)
            .map(|n| {
                let why = if n < 25 {
                    NotTaken::TakenBy(Some(KubeRef::new("c", "x")))
                } else {
                    NotTaken::NotApproved
                };
                (KubeRef::new("hardware", format!("a{n:02}")), why)
            })
            .collect();
        let found = Found {
            reserved: Reserved::NoneFits {
                others,
                namespace: "hardware".into(),
            },
            agent: None,
            has_started: false,
            reinstall: None,
            generation: Some(1),
        };
        let status = status(None, &found, now());
        assert_eq!(
            (status.candidates.len(), status.candidates_omitted),
            (20, Some(10))
        );
        let counts: Vec<(&str, i64)> = status
            .candidate_reasons
            .iter()
            .map(|one| (one.reason.as_str(), one.agents))
            .collect();
        assert_eq!(counts, [("NotApproved", 5), ("TakenBy", 25)]);
        assert_eq!(
            (
                status.candidates[0].name.as_str(),
                status.candidates[0].reason.as_str()
            ),
            ("a25", "NotApproved")
        );
        let reserved = find(&status, "AgentReserved");
        assert_eq!(
            (reserved.status.as_str(), reserved.reason.as_str()),
            ("False", "NoSuitableAgents")
        );
        assert!(
            reserved.message.starts_with(
                "None of 30 Agents in the namespace hardware can be taken: hardware/a25: it is not approved"
            ),
            "{}",
            reserved.message
        );
        assert!(reserved.message.contains("and 25 more"));
        assert_eq!(find(&status, "Installed").reason, "AgentNotYetFound");
        assert!(!status.ready && status.agent_ref.is_none());
    }

    #[test]
    fn a_notice_names_the_generation_that_it_is_about_and_leaves_the_rest() {
        let before = taken(&agent(&json!([])));
        let notice = (Type::Paused, Reason::Paused);
        let paused = with_notice(Some(&before), notice, "why", Some(4), now());
        assert_eq!(find(&paused, "Paused").observed_generation, Some(4));
        assert_eq!(find(&paused, "Ready").observed_generation, Some(3));
        assert_eq!(without_notice(&paused, Type::Paused), before);
    }

    #[test]
    fn the_same_state_gives_the_same_status() {
        let agent = agent(&json!([{"type": "SpecSynced", "status": "True"}]));
        let first = taken(&agent);
        let later = Timestamp::from_timestamp(1_795_000_100, 0).unwrap();
        assert_eq!(status(Some(&first), &found(&agent, false), later), first);
    }
}
