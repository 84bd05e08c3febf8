//! The request to reboot a host, in an annotation of its Agent, and the answer to it in another.

use kube::ResourceExt;
use muster_api::time::{Timestamp, millis};
use muster_core::record::{Host, RebootOutcome, RebootWay};
use muster_resources::names::annotation::AGENT_REBOOT_REQUESTED;
use muster_resources::{AgentReboot, AgentRebootOutcome};

use crate::agent::cached::CachedAgent;

/// The request of the annotation; `None`: there is none, or it is no time.
pub fn requested(agent: &CachedAgent) -> Option<Timestamp> {
    agent.annotations().get(AGENT_REBOOT_REQUESTED)?.parse().ok()
}

/// The answer to the last request, for the annotation; `None`: there was none.
pub fn answer(agent: &CachedAgent, host: &Host) -> Option<String> {
    let text = agent.annotations().get(AGENT_REBOOT_REQUESTED);
    let unreadable = text.filter(|_| requested(agent).is_none());
    let shown = match (unreadable, &host.data.asked_reboot) {
        (Some(text), _) => AgentReboot {
            requested: text.clone(),
            by: String::new(),
            outcome: AgentRebootOutcome::Refused,
            reason: "this is no time (RFC 3339), such as 2026-11-22T15:00:00Z".to_owned(),
        },
        (None, Some(asked)) => {
            let by = match &asked.way {
                Some(RebootWay::Bmc(name)) => format!("BMC {name}"),
                Some(RebootWay::NodeAgent) => "the agent on its node".to_owned(),
                None => String::new(),
            };
            let (outcome, reason) = match (&asked.way, &asked.outcome) {
                (_, None) => (AgentRebootOutcome::Pending, String::new()),
                (_, Some(RebootOutcome::Done)) => (AgentRebootOutcome::Done, String::new()),
                (Some(_), Some(RebootOutcome::Failed(why))) => (AgentRebootOutcome::Failed, why.clone()),
                (None, Some(RebootOutcome::Failed(why))) => (AgentRebootOutcome::Refused, why.clone()),
            };
            AgentReboot {
                requested: millis(Some(asked.requested_at)),
                by,
                outcome,
                reason,
            }
        }
        (None, None) => return None,
    };
    Some(serde_json::to_string(&shown).expect("texts are JSON"))
}
