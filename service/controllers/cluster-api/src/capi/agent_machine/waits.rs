//! Computes the wait of an AgentMachine, for Events: its reason, since when, until when, and advice for users.

use std::time::Duration;

use kube::Resource;
use muster_controller::waits::{INSTALLATION_MINUTES, Limit, NODE_MINUTES, Wait};
use muster_core::lifecycle::host::deadline::RECLAIM_LIMIT;
use muster_core::rules::limits::USUAL_WAKE;
use muster_resources::{AgentMachine, AgentMachineStatus, StandardCondition};

use super::status::{Reason, Type};
use crate::capi::provider::Provider;

/// Limit for Cluster, AgentCluster and bootstrap data: controllers make them, within seconds.
const PREREQUISITES: Limit = Limit::minutes(
    10,
    "See that what is named here exists, and see the conditions of the Cluster, its AgentCluster and the Machine.",
);

const AGENTS: Limit = Limit::minutes(
    NODE_MINUTES,
    "Mend what keeps one of them, or boot another machine; see status.candidates.",
);

const INSTALLATION: Limit = Limit::minutes(
    INSTALLATION_MINUTES,
    "The Agent's Events show what its host waits for. To take another host, delete the Machine.",
);

/// Limit for a host that sleeps; the service ends the wait by itself, which may be set to another time (`--host-wake-timeout`).
const WAKING: Limit = Limit::minutes(
    USUAL_WAKE.num_minutes().unsigned_abs(),
    "Another Agent is taken then. See the BMC of the host: muster bmc show.",
);

const FAILED: Limit = Limit::minutes(
    NODE_MINUTES,
    "Delete the Machine, so that another takes its place; the Agent's Events and logs show why its host failed.",
);

/// Limit for a node that returns by itself: twice the limit of a step, since it has two; then the node counts as left.
const LEAVING: Limit = Limit::minutes(
    2 * RECLAIM_LIMIT.num_minutes().unsigned_abs(),
    "The Agent's Events show what its host waits for. To give the host up, delete its Agent.",
);

const DRAIN: Limit = Limit::minutes(
    60,
    "Delete the Machine, unless it is being deleted; then its condition Deleting shows what keeps its node, and spec.deletion.nodeDrainTimeoutSeconds ends that.",
);

/// Sets the wait of the AgentMachine with this status; the status shows when it is overdue. Returns the time after which to check
/// that.
pub fn set(object: &AgentMachine, status: &mut AgentMachineStatus, provider: &Provider) -> Option<Duration> {
    let wait = wait(status).map(|(wait, type_)| (wait, type_.into()));
    let waits = &provider.context.waits;
    waits.tell(&object.object_ref(&()), wait, &mut status.conditions)
}

/// Ends the wait of the AgentMachine.
pub fn end(object: &AgentMachine, provider: &Provider) {
    provider.context.waits.set(&object.object_ref(&()), None);
}

/// The wait of an AgentMachine with this status; `None`: it waits for nothing.
pub fn wait_of(status: &AgentMachineStatus) -> Option<Wait> {
    wait(status).map(|(wait, _)| wait)
}

/// The wait, with the condition that shows it.
fn wait(status: &AgentMachineStatus) -> Option<(Wait, Type)> {
    if let Some(deleting) = find(status, Type::Deleting) {
        return Some((of_deletion(deleting), Type::Deleting));
    }
    if find(status, Type::Paused).is_some() || status.ready {
        return None;
    }
    let reserved = find(status, Type::AgentReserved)?;
    if reserved.status != "True" {
        let none_fits = reserved.reason == <&str>::from(Reason::NoSuitableAgents);
        let (reason, limit) = if none_fits {
            ("NoSuitableAgents", AGENTS)
        } else {
            ("AgentNotYetFound", PREREQUISITES)
        };
        let wait = Wait {
            needs_user: none_fits,
            ..Wait::of_condition(reserved, reason, limit)
        };
        return Some((wait, Type::AgentReserved));
    }
    let installed = find(status, Type::Installed)?;
    let agent = status.agent_ref.as_ref()?;
    let has_failed = installed.reason == <&str>::from(Reason::InstallationFailed);
    let is_woken = installed.reason == <&str>::from(Reason::HostWaking);
    let (reason, limit) = if has_failed {
        ("InstallationFailed", FAILED)
    } else if is_woken {
        ("WaitingForHostToWake", WAKING)
    } else {
        ("WaitingForInstallation", INSTALLATION)
    };
    // Before an Agent is taken, the condition Installed has its status already.
    let began = StandardCondition {
        last_transition_time: reserved.last_transition_time.clone(),
        ..installed.clone()
    };
    let wait = Wait::of_condition(&began, reason, limit);
    let what = format!(
        "The host of the Agent {}/{} is not installed yet: {}",
        agent.namespace, agent.name, wait.what
    );
    let wait = Wait {
        what,
        needs_user: has_failed,
        ..wait
    };
    Some((wait, Type::Installed))
}

fn of_deletion(deleting: &StandardCondition) -> Wait {
    if deleting.reason == <&str>::from(Reason::WaitingForAgent) {
        return Wait::of_condition(deleting, "WaitingForHostToLeave", LEAVING);
    }
    Wait::of_condition(deleting, "WaitingForMachine", DRAIN)
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
        wait(&serde_json::from_value(status).unwrap()).map(|(wait, _)| wait)
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
        let failed = condition("Installed", "False", "InstallationFailed");
        let failed = read(&json!([taken, failed])).unwrap();
        assert!(
            failed.needs_user && failed.todo.contains("Delete the Machine"),
            "{failed:?}"
        );
        let none = read(&json!([none])).unwrap();
        let text = none.text(none.since);
        assert_eq!(
            text,
            "AgentReserved says why. Since 2026-11-22 08:00:00 UTC, expected to end by 2026-11-22 08:20:00 UTC. \
             Mend what keeps one of them, or boot another machine; see status.candidates."
        );
    }
}
