//! Says what an AgentMachine waits for, for Events: what, since when, until when, and what a user can do.

use kube::Resource;
use muster_api::time::Timestamp;
use muster_resources::{AgentMachine, AgentMachineStatus, StandardCondition};

use super::status::{Reason, Type};
use crate::capi::provider::Provider;
use crate::waits::Wait;

/// Tells what the AgentMachine waits for with this status.
pub fn set(object: &AgentMachine, status: &AgentMachineStatus, provider: &Provider) {
    provider.context.waits.set(&object.object_ref(&()), wait(status));
}

/// It waits for nothing any more.
pub fn end(object: &AgentMachine, provider: &Provider) {
    provider.context.waits.set(&object.object_ref(&()), None);
}

fn wait(status: &AgentMachineStatus) -> Option<Wait> {
    if let Some(deleting) = find(status, Type::Deleting) {
        return Some(of_deletion(deleting));
    }
    if find(status, Type::Paused).is_some() || status.ready {
        return None;
    }
    let reserved = find(status, Type::AgentReserved)?;
    let none_fits: &str = Reason::NoSuitableAgents.into();
    if reserved.status != "True" && reserved.reason == none_fits {
        return Some(Wait {
            todo: "Mend what keeps one of them, or boot another machine; status.candidates says more.".into(),
            needs_user: true,
            ..of(reserved, "NoSuitableAgents", &reserved.message)
        });
    }
    if reserved.status != "True" {
        return Some(of(reserved, "AgentNotYetFound", &reserved.message));
    }
    let installed = find(status, Type::Installed)?;
    let agent = status.agent_ref.as_ref()?;
    let what = format!(
        "The host of the Agent {}/{} is not installed yet: {}",
        agent.namespace, agent.name, installed.message
    );
    Some(Wait {
        todo: "The Agent's Events say what its host waits for.".into(),
        ..of(reserved, "WaitingForInstallation", &what)
    })
}

fn of_deletion(deleting: &StandardCondition) -> Wait {
    let for_agent: &str = Reason::WaitingForAgent.into();
    if deleting.reason == for_agent {
        return Wait {
            todo: "The Agent's Events say what its host waits for. To give the host up, delete its Agent."
                .into(),
            ..of(deleting, "WaitingForHostToLeave", &deleting.message)
        };
    }
    of(deleting, "WaitingForMachine", &deleting.message)
}

fn of(condition: &StandardCondition, reason: &'static str, what: &str) -> Wait {
    let since = condition.last_transition_time.0.as_second();
    Wait {
        reason,
        what: what.trim_end_matches('.').to_owned(),
        since: Timestamp::from_timestamp(since, 0).unwrap_or_default(),
        until: None,
        todo: String::new(),
        needs_user: false,
    }
}

fn find(status: &AgentMachineStatus, type_: Type) -> Option<&StandardCondition> {
    let name: &str = type_.into();
    status.conditions.iter().find(|one| one.type_ == name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(conditions: &Value) -> Option<Wait> {
        let status = json!({"conditions": conditions, "agentRef": {"name": "a", "namespace": "hw"}});
        wait(&serde_json::from_value(status).unwrap())
    }

    fn condition(type_: &str, status: &str, reason: &str) -> Value {
        json!({
            "type": type_, "status": status, "reason": reason, "message": format!("{type_} says why."),
            "lastTransitionTime": "2026-11-22T08:00:00Z",
        })
    }

    #[test]
    fn each_wait_has_its_reason_its_beginning_and_what_to_do() {
        let taken = condition("AgentReserved", "True", "AgentReserved");
        let none = condition("AgentReserved", "False", "NoSuitableAgents");
        let installing = condition("Installed", "False", "InstallationInProgress");
        let reason = |conditions: Value| read(&conditions).map(|wait| wait.reason);
        assert_eq!(
            reason(json!([none.clone(), installing.clone()])),
            Some("NoSuitableAgents")
        );
        assert_eq!(
            reason(json!([taken.clone(), installing.clone()])),
            Some("WaitingForInstallation")
        );
        let leaving = condition("Deleting", "True", "WaitingForAgent");
        assert_eq!(
            reason(json!([taken.clone(), installing, leaving])),
            Some("WaitingForHostToLeave")
        );
        assert_eq!(
            reason(json!([none.clone(), condition("Paused", "True", "Paused")])),
            None
        );
        let text = read(&json!([none])).unwrap().text();
        assert!(
            text.starts_with("AgentReserved says why. Since 08:00:00 UTC, without an end. Mend"),
            "{text}"
        );
    }
}
