//! Finds the Agent of a Machine, requests the reboot of its host, and reads the answer.
//!
//! A reboot is requested only where Machine, AgentMachine, Agent and ClusterDeployment name each other: a label alone, which an author of
//! the Agent can set, reboots nothing.

use kube::api::Patch;
use kube::{Api, Client, ResourceExt};
use muster_api::time::{Timestamp, millis};
use muster_controller::error::Error;
use muster_controller::references::kube_ref;
use muster_controller::writes::patch_params;
use muster_core::record::KubeRef;
use muster_resources::names::annotation;
use muster_resources::{AgentCluster, AgentMachine, AgentReboot, AgentRebootOutcome};
use serde_json::{Value, json};

use super::decision::Answer;
use crate::capi::agents::AgentView;
use crate::capi::objects::{Cluster, Machine};

/// The host of a Machine.
#[derive(Debug)]
pub enum Found {
    Agent(Box<AgentView>),
    /// The Machine has no host to reboot: the reason, as the end of a sentence.
    Nothing(String),
    /// It is not known yet: a sentence.
    Later(String),
}

/// Returns the Agent of a Machine.
///
/// # Errors
/// Fails if the API server does.
pub async fn find(client: &Client, machine: Machine<'_>, cluster: Cluster<'_>) -> Result<Found, Error> {
    let Some(name) = machine.agent_machine() else {
        return Ok(Found::Nothing(
            "the infrastructure of the Machine is no AgentMachine".into(),
        ));
    };
    let api = Api::<AgentMachine>::namespaced(client.clone(), &name.namespace);
    let Some(object) = api.get_opt(&name.name).await? else {
        return Ok(Found::Nothing(format!("there is no AgentMachine {name}")));
    };
    let uid = machine.0.uid();
    if !object
        .owner_references()
        .iter()
        .any(|owner| Some(&owner.uid) == uid.as_ref())
    {
        return Ok(Found::Nothing(format!(
            "the AgentMachine {name} belongs to another Machine"
        )));
    }
    let taken = object
        .status
        .as_ref()
        .and_then(|status| status.agent_ref.as_ref());
    let Some(taken) = taken.filter(|it| !it.name.is_empty()) else {
        return Ok(Found::Nothing(format!(
            "the AgentMachine {name} has no Agent yet"
        )));
    };
    let deployment = match deployment(client, cluster).await? {
        Ok(deployment) => deployment,
        Err(why) => return Ok(Found::Later(why)),
    };
    let taken = KubeRef::new(&taken.namespace, &taken.name);
    let api = Api::<AgentView>::namespaced(client.clone(), &taken.namespace);
    let Some(agent) = api.get_opt(&taken.name).await? else {
        return Ok(Found::Nothing(format!("there is no Agent {taken}")));
    };
    Ok(match foreign(&agent, &name, &deployment) {
        Some(why) => Found::Nothing(why),
        None => Found::Agent(Box::new(agent)),
    })
}

/// The reason why the Agent is not the one of the AgentMachine in the cluster; `None`: it is.
fn foreign(agent: &AgentView, machine: &KubeRef, deployment: &KubeRef) -> Option<String> {
    let name = &agent.candidate.host;
    if agent.candidate.is_leaving {
        return Some(format!("the Agent {name} is being deleted"));
    }
    if agent.candidate.taken_by.as_ref() != Some(machine) {
        return Some(format!(
            "the Agent {name} is not taken for the AgentMachine {machine}"
        ));
    }
    (agent.candidate.cluster.as_ref() != Some(deployment))
        .then(|| format!("the Agent {name} does not belong to the cluster {deployment}"))
}

/// The ClusterDeployment that Agents of the Cluster are bound to, or the reason of a wait.
async fn deployment(client: &Client, cluster: Cluster<'_>) -> Result<Result<KubeRef, String>, Error> {
    let Some(name) = cluster.agent_cluster() else {
        let cluster = kube_ref(cluster.0);
        return Ok(Err(format!(
            "The Cluster {cluster} has no AgentCluster as its infrastructure"
        )));
    };
    let api = Api::<AgentCluster>::namespaced(client.clone(), &name.namespace);
    let found = api.get_opt(&name.name).await?.and_then(|found| found.status);
    let reference = found.map(|status| status.cluster_deployment_reference);
    Ok(match reference.filter(|it| !it.name.is_empty()) {
        Some(it) if it.namespace.is_empty() => Ok(KubeRef::new(&name.namespace, &it.name)),
        Some(it) => Ok(KubeRef::new(&it.namespace, &it.name)),
        None => Err(format!(
            "Waits for the AgentCluster {name} to have a ClusterDeployment"
        )),
    })
}

/// The request that the Agent has.
fn requested(agent: &AgentView) -> Option<Timestamp> {
    let text = agent.annotations().get(annotation::AGENT_REBOOT_REQUESTED)?;
    text.parse().ok()
}

/// The answer of the Agent to the request of that time.
pub fn answer(agent: &AgentView, last: Option<Timestamp>) -> Answer {
    if last.is_none() || requested(agent) != last {
        return Answer::NotRequested;
    }
    let text = agent.annotations().get(annotation::AGENT_REBOOT);
    let answer = text.and_then(|text| serde_json::from_str::<AgentReboot>(text).ok());
    let Some(answer) = answer.filter(|answer| answer.requested.parse().ok() == last) else {
        return Answer::None;
    };
    match answer.outcome {
        AgentRebootOutcome::Pending => Answer::Pending(answer.by),
        AgentRebootOutcome::Done => Answer::Done(answer.by),
        AgentRebootOutcome::Failed => Answer::Failed(answer.reason),
        AgentRebootOutcome::Refused => Answer::Refused(answer.reason),
    }
}

/// Requests a reboot. It fails with a conflict if the Agent was changed since it was checked.
///
/// # Errors
/// Fails if the API server does.
pub async fn request(client: &Client, agent: &AgentView, at: Timestamp) -> Result<(), Error> {
    annotate(client, agent, json!(millis(Some(at)))).await
}

/// Withdraws the request of that time, if the Agent has it.
///
/// # Errors
/// Fails if the API server does; with a conflict if the Agent changed.
pub async fn withdraw(client: &Client, agent: &AgentView, last: Option<Timestamp>) -> Result<(), Error> {
    if last.is_none() || requested(agent) != last {
        return Ok(());
    }
    annotate(client, agent, Value::Null).await
}

async fn annotate(client: &Client, agent: &AgentView, value: Value) -> Result<(), Error> {
    let patch: Patch<Value> = Patch::Merge(json!({"metadata": {
        "resourceVersion": agent.resource_version(),
        "annotations": {annotation::AGENT_REBOOT_REQUESTED: value},
    }}));
    let name = &agent.candidate.host;
    let api = Api::<AgentView>::namespaced(client.clone(), &name.namespace);
    api.patch_metadata(&name.name, &patch_params(), &patch).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(requested: Option<&str>, answer: Option<Value>) -> AgentView {
        let answer = answer.map(|answer| answer.to_string());
        let mut annotations = json!({"agentMachineRefNamespace": "c"});
        for (key, value) in [
            (annotation::AGENT_REBOOT_REQUESTED, requested.map(str::to_owned)),
            (annotation::AGENT_REBOOT, answer),
        ] {
            if let Some(value) = value {
                annotations[key] = json!(value);
            }
        }
        serde_json::from_value(json!({
            "metadata": {
                "name": "a", "namespace": "hardware", "labels": {"agentMachineRef": "m"}, "annotations": annotations,
            },
            "spec": {"approved": true, "role": "", "clusterDeploymentName": {"name": "one", "namespace": "c"}},
        }))
        .unwrap()
    }

    #[test]
    fn an_answer_counts_for_its_own_request_alone() {
        let (first, second) = ("2026-11-22T15:00:00.000Z", "2026-11-22T15:20:00.000Z");
        let last = first.parse().ok();
        let of = |requested: &str, outcome: &str| json!({"requested": requested, "outcome": outcome, "by": "BMC r1u7", "reason": "why"});
        for (requested, answered, wanted) in [
            (None, None, Answer::NotRequested),
            (Some(second), None, Answer::NotRequested),
            (Some(first), None, Answer::None),
            (Some(first), Some(of(second, "done")), Answer::None),
            (Some(first), Some(json!("rubbish")), Answer::None),
            (
                Some(first),
                Some(of(first, "pending")),
                Answer::Pending("BMC r1u7".into()),
            ),
            (
                Some(first),
                Some(of(first, "done")),
                Answer::Done("BMC r1u7".into()),
            ),
            (
                Some(first),
                Some(of(first, "failed")),
                Answer::Failed("why".into()),
            ),
            (
                Some(first),
                Some(of(first, "refused")),
                Answer::Refused("why".into()),
            ),
        ] {
            let agent = agent(requested, answered);
            assert_eq!(answer(&agent, last), wanted);
        }
        assert_eq!(answer(&agent(None, None), None), Answer::NotRequested);
    }

    #[test]
    fn an_agent_of_another_machine_or_cluster_is_not_rebooted() {
        let agent = agent(None, None);
        let name = |name: &str| KubeRef::new("c", name);
        assert_eq!(foreign(&agent, &name("m"), &name("one")), None);
        let why = foreign(&agent, &name("n"), &name("one")).unwrap();
        assert!(why.contains("is not taken for the AgentMachine c/n"), "{why}");
        let why = foreign(&agent, &name("m"), &name("two")).unwrap();
        assert!(why.contains("does not belong to the cluster c/two"), "{why}");
    }
}
