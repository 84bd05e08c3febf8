//! Hosts of AgentMachines that are installed again in their cluster, and bootstrap data that HyperShift replaces.

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use muster_resources::{AgentMachine, Reinstall, ReinstallPhase};
use serde_json::{Value, json};

use super::world::{self, World};
use super::{HOOK, machine_with_agent};
use crate::backend::eventually;

const REQUEST: &str = "capi-provider.agent-install.openshift.io/reinstall";
const REQUESTED: &str = "agent.agent-install.openshift.io/reinstall-requested";
const ANSWER: &str = "agent.agent-install.openshift.io/reinstall";
const AT: &str = "2026-11-22T15:00:00.000Z";

/// Waits until the AgentMachine shows this phase.
async fn phase(world: &World, phase: ReinstallPhase) -> Reinstall {
    eventually(&format!("m to be {phase:?}"), async || {
        let machine: AgentMachine = world.get("m").await;
        machine.status?.reinstall.filter(|shown| shown.phase == phase)
    })
    .await
}

async fn answer(world: &World, outcome: &str) {
    let answer = json!({"requested": AT, "outcome": outcome, "reason": "why"}).to_string();
    let patch = Patch::Merge(json!({"metadata": {"annotations": {ANSWER: answer}}}));
    let agents = world.agents();
    agents.patch("a", &PatchParams::default(), &patch).await.unwrap();
}

async fn data_of_machine(world: &World, name: &str, secret: &str) {
    let patch = Patch::Merge(json!({"spec": {"bootstrap": {"dataSecretName": secret}}}));
    let machines = world.machines();
    machines
        .patch(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_installed_again_with_new_data_and_stays_with_its_machine() {
    let (world, _) = machine_with_agent().await;
    world.installed("a").await;
    let before = world.await_ready("m").await;
    let request = json!({"requested": AT, "dataSecretName": "user-data-2"}).to_string();
    world.annotate::<AgentMachine>("m", REQUEST, &request).await;
    // The Machine does not name the data yet.
    let waiting = phase(&world, ReinstallPhase::Waiting).await;
    assert!(
        waiting.message.contains("the Secret user-data-2"),
        "{}",
        waiting.message
    );
    assert!(!world.get_agent("a").await.annotations().contains_key(REQUESTED));

    let whole = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/x"}]}});
    world.bootstrap("user-data-2", &whole).await;
    data_of_machine(&world, "m", "user-data-2").await;
    // HyperShift deletes the former data at once.
    world.delete::<Secret>("user-data").await;
    let agent = eventually("the request to reach the Agent", async || {
        let agent = world.get_agent("a").await;
        (agent.annotations().get(REQUESTED).map(String::as_str) == Some(AT)).then_some(agent)
    })
    .await;
    let reference = agent.spec.ignition_endpoint_token_reference.unwrap();
    assert_eq!(reference.name, "agent-user-data-2", "in the same write");

    answer(&world, "pending").await;
    let bound = json!({"Bound": "True"});
    world
        .agent_status("a", &bound, "resetting-pending-user-action")
        .await;
    phase(&world, ReinstallPhase::Leaving).await;
    world.agent_status("a", &bound, "known").await;
    phase(&world, ReinstallPhase::Installing).await;
    let during: AgentMachine = world.get("m").await;
    let status = during.status.unwrap();
    assert!(status.ready, "Cluster API does not expect that back");
    assert_eq!(status.addresses, before.addresses);
    world.installed("a").await;
    answer(&world, "done").await;
    phase(&world, ReinstallPhase::Done).await;
    let after: AgentMachine = world.get("m").await;
    assert_eq!(after.spec.provider_id.as_deref(), Some("agent://a"));
    assert_eq!(after.status.unwrap().agent_ref, before.agent_ref);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reinstallation_that_failed_or_was_refused_is_shown_with_the_reason() {
    let (world, _) = machine_with_agent().await;
    world.installed("a").await;
    world.await_ready("m").await;
    let request = json!({"requested": AT, "dataSecretName": "user-data"}).to_string();
    world.annotate::<AgentMachine>("m", REQUEST, &request).await;
    for (outcome, wanted) in [
        ("refused", ReinstallPhase::Refused),
        ("failed", ReinstallPhase::Failed),
    ] {
        answer(&world, outcome).await;
        assert_eq!(phase(&world, wanted).await.message, "why");
    }
}

/// Source: docs/protocol/capi-agent-provider.md#8.1: the Secret of a former configuration is deleted at once, and Machines keep its name.
#[tokio::test(flavor = "multi_thread")]
async fn data_that_hypershift_has_replaced_keep_no_host_from_staying_leaving_or_coming() {
    let (world, _) = machine_with_agent().await;
    world.delete::<Secret>("user-data").await;
    world.bootstrap("user-data-2", &world::pointer()).await;
    // Bound, and not installed yet.
    world.installed("a").await;
    world.await_ready("m").await;
    // Another one comes with the new data.
    world.agent("b", &json!({})).await;
    world.machine("n", "user-data-2", &json!({})).await;
    let taken = world.await_taken("n").await;
    assert_eq!(taken.spec.provider_id.as_deref(), Some("agent://b"));
    // One that never had an Agent names data that are gone: the reason is shown, and its deletion ends.
    world.machine("o", "user-data", &json!({})).await;
    eventually("the missing data to be named", async || {
        let machine: AgentMachine = world.get("o").await;
        let conditions = machine.status?.conditions;
        let reserved = conditions.into_iter().find(|one| one.type_ == "AgentReserved")?;
        reserved.message.contains("user-data").then_some(())
    })
    .await;
    // The first leaves.
    world.delete_machine("m").await;
    world.awaits_hook("m").await;
    eventually("the Agent to be given back", async || {
        let agent = world.get_agent("a").await;
        let spec: Value = serde_json::to_value(&agent.spec).unwrap();
        (spec["clusterDeploymentName"] == Value::Null).then_some(())
    })
    .await;
    world.left("a", "known-unbound").await;
    eventually("the hook to go", async || {
        let machine = world.machines().get_opt("m").await.unwrap();
        machine
            .is_none_or(|machine| !machine.annotations().contains_key(HOOK))
            .then_some(())
    })
    .await;
}
