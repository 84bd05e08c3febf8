//! AgentRemediations: the MachineHealthCheck that makes them and the service that reboots hosts are simulated.

use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use muster_api::time::millis;
use muster_operations::now;
use muster_resources::{AgentRemediation, AgentRemediationStatus};
use serde_json::{Value, json};

use super::machine_with_agent;
use super::world::World;
use crate::backend::eventually;

const REQUESTED: &str = "agent.agent-install.openshift.io/reboot-requested";
const ANSWER: &str = "agent.agent-install.openshift.io/reboot";

/// A Machine whose host `a` is its node.
async fn node() -> World {
    let (world, _) = machine_with_agent().await;
    world.installed("a").await;
    world.await_ready("m").await;
    world
}

/// Creates the AgentRemediation of the Machine `m`, as a MachineHealthCheck does.
async fn remediate(world: &World, strategy: Value, annotations: Value) {
    let machine = world.get_machine("m").await;
    let owner = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m", "uid": machine.uid(),
    });
    let object: AgentRemediation = serde_json::from_value(json!({
        "metadata": {
            "name": "m", "ownerReferences": [owner], "annotations": annotations,
            "labels": {"cluster.x-k8s.io/cluster-name": "one"},
        },
        "spec": {"strategy": strategy},
    }))
    .unwrap();
    let api = world.api::<AgentRemediation>();
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// The request that the Agent has.
async fn request(world: &World) -> Option<String> {
    world.get_agent("a").await.annotations().get(REQUESTED).cloned()
}

/// The next request after `last`.
async fn requested(world: &World, last: Option<&str>) -> String {
    eventually("a request to reboot the host", async || {
        request(world).await.filter(|at| Some(at.as_str()) != last)
    })
    .await
}

/// Answers a request as the service of the host does.
async fn answer(world: &World, requested: &str, outcome: &str, reason: &str) {
    let answer = json!({"requested": requested, "by": "BMC r1u7", "outcome": outcome, "reason": reason});
    let patch = Patch::Merge(json!({"metadata": {"annotations": {ANSWER: answer.to_string()}}}));
    let params = PatchParams::default();
    world.agents().patch("a", &params, &patch).await.unwrap();
}

async fn status(world: &World) -> AgentRemediationStatus {
    let object: AgentRemediation = world.get("m").await;
    object.status.unwrap_or_default()
}

/// The status in this phase.
async fn in_phase(world: &World, phase: &str) -> AgentRemediationStatus {
    eventually(&format!("the phase {phase}"), async || {
        let status = status(world).await;
        (status.phase.as_deref() == Some(phase)).then_some(status)
    })
    .await
}

/// The condition by which the owner of the Machine replaces it.
async fn owner_remediated(world: &World) -> Option<Value> {
    let machine = world.get_machine("m").await;
    let conditions = machine.data["status"]["conditions"].as_array()?.clone();
    let mut found = conditions
        .into_iter()
        .filter(|one| one["type"] == "OwnerRemediated");
    let first = found.next();
    assert!(found.next().is_none());
    first
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_rebooted_and_its_machine_replaced_when_that_does_not_help() {
    let world = node().await;
    let strategy = json!({"type": "Reboot", "retryLimit": 2, "timeout": "1h"});
    remediate(&world, strategy, json!({})).await;
    let first = requested(&world, None).await;
    assert_eq!(owner_remediated(&world).await, None);
    answer(
        &world,
        &first,
        "failed",
        "the agent on its node did not do so in time",
    )
    .await;
    let second = requested(&world, Some(&first)).await;
    answer(&world, &second, "failed", "its BMC could not: no power").await;
    let ended = in_phase(&world, "Deleting").await;
    assert_eq!(ended.retry_count, Some(2));
    let message = &ended.conditions[0].message;
    assert!(
        message.contains("no power") && message.contains("replaces it"),
        "{message}"
    );
    let condition = owner_remediated(&world).await.unwrap();
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("False"), &json!("WaitingForRemediation"))
    );
    assert_eq!(request(&world).await, Some(second), "no further reboot");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_nothing_can_reboot_is_replaced_at_once_with_the_reason() {
    let world = node().await;
    remediate(&world, json!({"retryLimit": 5}), json!({})).await;
    let first = requested(&world, None).await;
    let why = "it has no BMC that can be used, and no agent of this service runs on its node";
    answer(&world, &first, "refused", why).await;
    let ended = in_phase(&world, "Deleting").await;
    assert_eq!(ended.retry_count, Some(1));
    let condition = owner_remediated(&world).await.unwrap();
    assert!(
        condition["message"].as_str().unwrap().contains(why),
        "{condition}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_becomes_healthy_keeps_its_host_and_a_reboot_that_has_not_begun_is_withdrawn() {
    let world = node().await;
    remediate(&world, json!({}), json!({})).await;
    let first = requested(&world, None).await;
    answer(&world, &first, "pending", "").await;
    eventually("the way in its message", async || {
        let status = status(&world).await;
        let message = &status.conditions.first()?.message;
        (status.phase.as_deref() == Some("Running") && message.contains("is carried out by BMC r1u7"))
            .then_some(())
    })
    .await;
    world.delete::<AgentRemediation>("m").await;
    eventually("it to go", async || {
        world.find::<AgentRemediation>("m").await.is_none().then_some(())
    })
    .await;
    assert_eq!(request(&world).await, None);
    assert_eq!(owner_remediated(&world).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_paused_does_nothing_and_a_request_that_was_recorded_is_sent_with_its_time() {
    let world = node().await;
    let paused = json!({"cluster.x-k8s.io/paused": ""});
    remediate(&world, json!({}), paused).await;
    eventually("the pause to be noted", async || {
        let conditions = status(&world).await.conditions;
        (conditions.first()?.reason == "Paused").then_some(())
    })
    .await;
    assert_eq!(request(&world).await, None);
    // An interruption between the record of the request and the request.
    let at = millis(Some(now()))[..19].to_owned() + "Z";
    let api = world.api::<AgentRemediation>();
    let recorded = json!({"status": {"phase": "Running", "retryCount": 1, "lastRemediated": at}});
    let params = PatchParams::default();
    api.patch_status("m", &params, &Patch::Merge(recorded))
        .await
        .unwrap();
    let goes_on = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}});
    api.patch("m", &params, &Patch::Merge(goes_on)).await.unwrap();
    let sent = requested(&world, None).await;
    assert_eq!(sent, at.replace('Z', ".000Z"));
    answer(&world, &sent, "done", "").await;
    let waits = in_phase(&world, "Waiting").await;
    assert_eq!(waits.retry_count, Some(1), "it is the same reboot");
}

/// clusterctl has taken its finalizers off in this management cluster.
#[tokio::test(flavor = "multi_thread")]
async fn a_remediation_that_is_moved_away_leaves_its_request() {
    let world = node().await;
    remediate(&world, json!({}), json!({})).await;
    let first = requested(&world, None).await;
    let key = "clusterctl.cluster.x-k8s.io/delete-for-move";
    world.annotate::<AgentRemediation>("m", key, "").await;
    world.delete::<AgentRemediation>("m").await;
    eventually("it to go", async || {
        world.find::<AgentRemediation>("m").await.is_none().then_some(())
    })
    .await;
    assert_eq!(request(&world).await, Some(first));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_was_taken_for_another_machine_is_not_rebooted() {
    let world = node().await;
    world.label_agent("a", "agentMachineRef", "another").await;
    remediate(&world, json!({}), json!({})).await;
    let ended = in_phase(&world, "Deleting").await;
    let message = &ended.conditions[0].message;
    assert!(message.contains("is not taken for the AgentMachine"), "{message}");
    assert_eq!((ended.retry_count, request(&world).await), (None, None));
}
