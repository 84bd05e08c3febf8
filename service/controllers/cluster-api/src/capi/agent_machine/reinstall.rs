//! Has the host of an AgentMachine installed again, as a node of the same cluster, and shows how far that is.
//!
//! The request is an annotation of the AgentMachine; its author can delete the Machine, which does more. It goes on to the Agent in one write
//! with the bootstrap data and the image that it is for, once the Machine names that data, and only if the Agent is taken for this
//! AgentMachine and belongs to its cluster.

use kube::ResourceExt;
use muster_core::record::KubeRef;
use muster_resources::names::annotation;
use muster_resources::{
    AgentMachine, AgentReboot, AgentRebootOutcome, Reinstall, ReinstallPhase, ReinstallRequest,
};

use crate::capi::agents::AgentView;
use crate::capi::objects::Machine;

/// State of a host that has not left its installed system yet.
const LEAVING: &str = "resetting-pending-user-action";

/// The request of the AgentMachine; `None`: there is none, or it cannot be read.
pub fn request(object: &AgentMachine) -> Option<ReinstallRequest> {
    let text = object.annotations().get(annotation::REINSTALL)?;
    let request: ReinstallRequest = serde_json::from_str(text).ok()?;
    (!request.requested.is_empty()).then_some(request)
}

/// The request that is not done yet.
pub fn open(object: &AgentMachine) -> Option<ReinstallRequest> {
    let shown = object
        .status
        .as_ref()
        .and_then(|status| status.reinstall.as_ref());
    request(object).filter(|request| {
        shown.is_none_or(|shown| shown.requested != request.requested || shown.phase != ReinstallPhase::Done)
    })
}

/// True if the request has reached the host already, as far as the status shows.
pub fn has_begun(object: &AgentMachine, request: &ReinstallRequest) -> bool {
    let shown = object
        .status
        .as_ref()
        .and_then(|status| status.reinstall.as_ref());
    shown.is_some_and(|shown| {
        let is_before = matches!(shown.phase, ReinstallPhase::Waiting | ReinstallPhase::Refused);
        shown.requested == request.requested && !is_before
    })
}

/// The reason for which the request must not go on to the Agent yet; `None`: it may.
pub fn held(
    request: &ReinstallRequest,
    machine: Machine<'_>,
    agent: Option<&AgentView>,
    deployment: &KubeRef,
) -> Option<String> {
    let named = machine.bootstrap_secret();
    if named != request.data_secret_name.as_deref() {
        let wanted = request.data_secret_name.as_deref().unwrap_or("none");
        return Some(format!(
            "Waits for the Machine to name the bootstrap data that it is for, the Secret {wanted}"
        ));
    }
    let Some(agent) = agent else {
        return Some("Waits for the Agent".into());
    };
    (agent.candidate.cluster.as_ref() != Some(deployment)).then(|| {
        format!(
            "The Agent {} does not belong to the cluster {deployment}",
            agent.candidate.host
        )
    })
}

/// How far the request is. `held`: the reason for which it did not go on to the Agent; `refused`: that for which it never will.
pub fn shown(
    request: &ReinstallRequest,
    agent: Option<&AgentView>,
    held: Option<&str>,
    refused: Option<&str>,
) -> Reinstall {
    let of = |phase, message: &str| Reinstall {
        requested: request.requested.clone(),
        phase,
        message: message.to_owned(),
    };
    let answer = agent.and_then(|agent| answer(agent, &request.requested));
    let state = agent.map_or("", |agent| agent.state.as_str());
    match (answer, refused, held) {
        (None, Some(why), _) => of(ReinstallPhase::Refused, why),
        (None, None, Some(why)) => of(ReinstallPhase::Waiting, why),
        (None, None, None) => of(
            ReinstallPhase::Waiting,
            "The service that has the host has not answered yet",
        ),
        (Some(answer), _, _) => match answer.outcome {
            AgentRebootOutcome::Done => of(ReinstallPhase::Done, ""),
            AgentRebootOutcome::Failed => of(ReinstallPhase::Failed, &answer.reason),
            AgentRebootOutcome::Refused => of(ReinstallPhase::Refused, &answer.reason),
            AgentRebootOutcome::Pending if state == LEAVING => of(ReinstallPhase::Leaving, &waits(agent)),
            AgentRebootOutcome::Pending => of(ReinstallPhase::Installing, &waits(agent)),
        },
    }
}

/// What the host waits for: the message of the Agent's condition `Installed`.
fn waits(agent: Option<&AgentView>) -> String {
    let installed = agent.and_then(|agent| agent.condition("Installed"));
    installed
        .and_then(|installed| installed.message.clone())
        .unwrap_or_default()
}

/// The Agent's answer to the request of that time.
fn answer(agent: &AgentView, requested: &str) -> Option<AgentReboot> {
    let text = agent.annotations().get(annotation::AGENT_REINSTALL)?;
    let answer: AgentReboot = serde_json::from_str(text).ok()?;
    (answer.requested == requested).then_some(answer)
}

#[cfg(test)]
mod tests {
    use kube::core::DynamicObject;
    use serde_json::{Value, json};

    use super::*;

    const AT: &str = "2026-11-22T15:00:00.000Z";

    fn agent(state: &str, answered: Option<(&str, &str)>) -> AgentView {
        let mut annotations = json!({"agentMachineRefNamespace": "c"});
        if let Some((requested, outcome)) = answered {
            let answer = json!({"requested": requested, "outcome": outcome, "reason": "why"});
            annotations[annotation::AGENT_REINSTALL] = json!(answer.to_string());
        }
        serde_json::from_value(json!({
            "metadata": {"name": "a", "namespace": "hardware", "labels": {"agentMachineRef": "m"}, "annotations": annotations},
            "spec": {"approved": true, "role": "", "clusterDeploymentName": {"name": "one", "namespace": "c"}},
            "status": {
                "debugInfo": {"state": state},
                "conditions": [{"type": "Installed", "status": "False", "message": "downloads"}],
            },
        }))
        .unwrap()
    }

    fn request() -> ReinstallRequest {
        ReinstallRequest {
            requested: AT.into(),
            data_secret_name: Some("new".into()),
        }
    }

    fn machine(secret: &str) -> DynamicObject {
        let machine: Value =
            json!({"metadata": {"name": "m"}, "spec": {"bootstrap": {"dataSecretName": secret}}});
        serde_json::from_value(machine).unwrap()
    }

    #[test]
    fn a_request_waits_for_its_bootstrap_data_and_is_for_the_agent_of_its_cluster_alone() {
        let one = KubeRef::new("c", "one");
        let agent = agent("added-to-existing-cluster", None);
        let of = |secret: &str, deployment: &KubeRef| {
            let machine = machine(secret);
            held(&request(), Machine(&machine), Some(&agent), deployment)
        };
        assert_eq!(of("new", &one), None);
        assert!(of("old", &one).unwrap().contains("the Secret new"));
        let why = of("new", &KubeRef::new("c", "two")).unwrap();
        assert!(why.contains("does not belong to the cluster c/two"), "{why}");
    }

    #[test]
    fn the_answer_to_the_request_counts_and_the_state_of_the_host() {
        use ReinstallPhase as P;
        let node = "added-to-existing-cluster";
        for (state, answered, phase, message) in [
            (node, None, P::Waiting, "has not answered"),
            (
                node,
                Some(("2026-01-01T00:00:00.000Z", "done")),
                P::Waiting,
                "has not answered",
            ),
            (LEAVING, Some((AT, "pending")), P::Leaving, "downloads"),
            ("known", Some((AT, "pending")), P::Installing, "downloads"),
            ("error", Some((AT, "failed")), P::Failed, "why"),
            (node, Some((AT, "refused")), P::Refused, "why"),
            (node, Some((AT, "done")), P::Done, ""),
        ] {
            let agent = agent(state, answered);
            let shown = shown(&request(), Some(&agent), None, None);
            assert_eq!((shown.phase, shown.requested.as_str()), (phase, AT));
            assert!(shown.message.contains(message), "{}", shown.message);
        }
        let kept = agent(node, None);
        let refused = shown(&request(), Some(&kept), None, Some("no such image"));
        assert_eq!(
            (refused.phase, refused.message.as_str()),
            (P::Refused, "no such image")
        );
        // What was begun is not taken back.
        let begun = agent("known", Some((AT, "pending")));
        assert_eq!(
            shown(&request(), Some(&begun), None, Some("no such image")).phase,
            P::Installing
        );
    }
}
