//! Names the Agent that was taken for an AgentMachine, and the reason against each of the others. Source:
//! docs/protocol/capi-agent-provider.md#2.1.

use std::collections::BTreeMap;

use muster_controller::conditions::ConditionStatus::{False, True};
use muster_controller::conditions::DesiredCondition;
use muster_core::record::KubeRef;
use muster_core::rules::placement::NotTaken;
use muster_resources::{AgentMachineStatus, CandidateAgent, CandidateReason, StandardCondition};

use super::status::{Reason, Type};

/// Most Agents in `status.candidates`.
const MOST_CANDIDATES: usize = 20;

/// Most Agents in the text of a condition.
const MOST_NAMED: usize = 5;

/// The state of the reservation.
#[derive(Debug)]
pub enum Reserved {
    /// This Agent was taken. With all others, if that was just decided.
    Taken {
        agent: KubeRef,
        others: Option<Vec<(KubeRef, NotTaken)>>,
    },
    /// None of these Agents can be taken.
    NoneFits {
        others: Vec<(KubeRef, NotTaken)>,
        /// The namespace that they are in.
        namespace: String,
    },
    /// The AgentMachine waits for something else: the reason, and what to do.
    NotYet(String),
}

/// Lists the Agents that were not taken.
pub fn set_candidates(status: &mut AgentMachineStatus, reserved: &Reserved) {
    let (Reserved::Taken {
        others: Some(others), ..
    }
    | Reserved::NoneFits { others, .. }) = reserved
    else {
        return;
    };
    let others = by_interest(others);
    let listed = others
        .iter()
        .take(MOST_CANDIDATES)
        .map(|(agent, why)| CandidateAgent {
            name: agent.name.clone(),
            namespace: agent.namespace.clone(),
            reason: why.name().to_owned(),
            message: why.to_string(),
        });
    status.candidates = listed.collect();
    let omitted = others.len().saturating_sub(MOST_CANDIDATES);
    status.candidates_omitted = i64::try_from(omitted).ok().filter(|omitted| *omitted > 0);
    let mut counts = BTreeMap::<&str, i64>::new();
    for (_, why) in &others {
        *counts.entry(why.name()).or_default() += 1;
    }
    let counts = counts.into_iter().map(|(reason, agents)| CandidateReason {
        reason: reason.to_owned(),
        agents,
    });
    status.candidate_reasons = counts.collect();
}

/// Sorts the Agents that a user can make usable first.
fn by_interest(others: &[(KubeRef, NotTaken)]) -> Vec<&(KubeRef, NotTaken)> {
    let mut sorted: Vec<_> = others.iter().collect();
    sorted.sort_by_key(|(_, why)| {
        matches!(
            why,
            NotTaken::TakenBy(_) | NotTaken::NotSelected(_) | NotTaken::OfAnotherCluster(_)
        )
    });
    sorted
}

fn named(others: &[(KubeRef, NotTaken)]) -> String {
    let sorted = by_interest(others);
    let mut text: Vec<String> = sorted
        .iter()
        .take(MOST_NAMED)
        .map(|(agent, why)| format!("{agent}: {why}"))
        .collect();
    let more = sorted.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        text.push(format!("and {more} more; status.candidates has some of them"));
    }
    text.join("; ")
}

/// True when the Agent was taken in an earlier reconcile: the text with the reasons against the others stays.
pub fn is_said(list: &[StandardCondition], reserved: &Reserved) -> bool {
    let Reserved::Taken { agent, others: None } = reserved else {
        return false;
    };
    let name: &str = Type::AgentReserved.into();
    let said = list.iter().find(|one| one.type_ == name && one.status == "True");
    said.is_some_and(|one| one.message.starts_with(&taken_text(agent)))
}

fn taken_text(agent: &KubeRef) -> String {
    format!("The Agent {agent} was taken")
}

/// Returns the condition `AgentReserved`.
pub fn reserved(reserved: &Reserved) -> DesiredCondition<Type, Reason> {
    let (truth, reason, message) = match reserved {
        Reserved::Taken { agent, others } => {
            let not_taken = match others.as_deref() {
                None | Some([]) => String::new(),
                Some(others) => format!(". Not taken: {}", named(others)),
            };
            (
                True,
                Reason::AgentReserved,
                format!("{}{not_taken}", taken_text(agent)),
            )
        }
        Reserved::NoneFits { others, namespace } => {
            let place = format!(" in the namespace {namespace}");
            let message = match others.len() {
                0 => format!(
                    "There is no Agent{place}; boot a machine with the image of an InfraEnv and approve its Agent"
                ),
                many => format!("None of {many} Agents{place} can be taken: {}", named(others)),
            };
            (False, Reason::NoSuitableAgents, message)
        }
        Reserved::NotYet(what) => (False, Reason::AgentNotYetFound, what.clone()),
    };
    DesiredCondition::new(Type::AgentReserved, truth, reason, message)
}
