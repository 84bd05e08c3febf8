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
    let last = host.data.asked_reboot.as_ref().map(|asked| Last {
        requested_at: asked.requested_at,
        by: match &asked.way {
            Some(RebootWay::Bmc(name)) => format!("BMC {name}"),
            Some(RebootWay::NodeAgent) => "the agent on its node".to_owned(),
            None => String::new(),
        },
        outcome: asked.outcome.as_ref(),
        is_refused: asked.way.is_none(),
    });
    answered(agent.annotations().get(AGENT_REBOOT_REQUESTED), last)
}

/// The last request in the record of a host.
pub(super) struct Last<'a> {
    pub requested_at: Timestamp,
    /// The way in which it is carried out; may be empty.
    pub by: String,
    pub outcome: Option<&'a RebootOutcome>,
    pub is_refused: bool,
}

/// The answer to the request in `text`, an annotation's value, which may be no time; `None`: there is neither.
pub(super) fn answered(text: Option<&String>, last: Option<Last<'_>>) -> Option<String> {
    let unreadable = text.filter(|text| text.parse::<Timestamp>().is_err());
    let shown = match (unreadable, last) {
        (Some(text), _) => AgentReboot {
            requested: text.clone(),
            by: String::new(),
            outcome: AgentRebootOutcome::Refused,
            reason: "this is no time (RFC 3339), such as 2026-11-22T15:00:00Z".to_owned(),
        },
        (None, Some(last)) => {
            let (outcome, reason) = match last.outcome {
                None => (AgentRebootOutcome::Pending, String::new()),
                Some(RebootOutcome::Done) => (AgentRebootOutcome::Done, String::new()),
                Some(RebootOutcome::Failed(why)) if last.is_refused => {
                    (AgentRebootOutcome::Refused, why.clone())
                }
                Some(RebootOutcome::Failed(why)) => (AgentRebootOutcome::Failed, why.clone()),
            };
            AgentReboot {
                requested: millis(Some(last.requested_at)),
                by: last.by,
                outcome,
                reason,
            }
        }
        (None, None) => return None,
    };
    Some(serde_json::to_string(&shown).expect("texts are JSON"))
}
