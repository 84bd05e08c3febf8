//! The Cluster API provider on a built-in Kubernetes API in this process. Agents, Machines and Clusters are simulated.

mod bootstrap;
mod choice;
mod clusters;
mod contract;
mod control_planes;
mod images;
mod moves;
mod placements;
mod quotas;
mod reinstalls;
mod remediation;
mod turns;
mod world;

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use muster_resources::AgentMachine;
use serde_json::json;
use tokio::time::sleep;
use world::{AGENTS, NAMESPACE, World, condition};

use crate::backend::eventually;

const HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/agentmachine";
const FINALIZER: &str = "agentmachine.agent-install.openshift.io/deprovision";

/// A Machine with an AgentMachine that has taken the Agent `a`.
async fn machine_with_agent() -> (World, AgentMachine) {
    let world = World::start().await;
    world.cluster("one").await;
    world.agent("a", &json!({})).await;
    world.bootstrap("user-data", &world::pointer()).await;
    world.machine("m", "user-data", &json!({})).await;
    let machine = world.await_taken("m").await;
    (world, machine)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_takes_an_agent_and_becomes_ready_with_it() {
    let (world, machine) = machine_with_agent().await;
    let status = machine.status.clone().unwrap();
    assert_eq!(machine.spec.provider_id.as_deref(), Some("agent://a"));
    assert!(machine.finalizers().contains(&FINALIZER.to_owned()));
    assert_eq!(
        condition(&status.conditions, "AgentReserved"),
        ("True", "AgentReserved")
    );
    assert_eq!(
        condition(&status.conditions, "Installed"),
        ("False", "InstallationNotStarted")
    );
    assert_eq!(status.conditions[0].type_, "Ready");
    let of_types = |types: [&str; 2]| -> Vec<&str> {
        let listed = status.addresses.iter();
        let found = listed.filter(|one| types.contains(&one.type_.as_str()));
        found.map(|one| one.address.as_str()).collect()
    };
    assert_eq!(
        of_types(["InternalIP", "Hostname"]),
        ["192.0.2.7", "2001:db8::7", "a.example.test"]
    );
    assert_eq!(
        of_types(["ExternalIP", "InternalDNS"]),
        of_types(["InternalIP", "Hostname"])
    );
    let agent = world.get_agent("a").await;
    assert_eq!(agent.labels()["agentMachineRef"], "m");
    assert_eq!(agent.annotations()["agentMachineRefNamespace"], NAMESPACE);
    let spec = serde_json::to_value(&agent.spec).unwrap();
    assert_eq!(
        spec["clusterDeploymentName"],
        json!({"name": "one", "namespace": NAMESPACE})
    );
    assert_eq!(spec["machineConfigPool"], "ignition");
    assert_eq!(
        spec["ignitionEndpointTokenReference"],
        json!({"name": "agent-user-data", "namespace": NAMESPACE})
    );
    assert_eq!(
        spec["ignitionEndpointHTTPHeaders"],
        json!({"NodePool": "clusters/np"})
    );
    assert_eq!(spec["hostname"], "a.example.test", "the user's");
    let secret: Secret = world.get("agent-user-data").await;
    assert_eq!(secret.data.unwrap()["ignition-token"].0, b"ZmFrZQ==");
    assert_eq!(world.get_machine("m").await.annotations()[HOOK], "");

    world.installed("a").await;
    let ready = world.await_ready("m").await;
    assert_eq!(ready.initialization.unwrap().provisioned, Some(true));
    assert_eq!(condition(&ready.conditions, "Ready"), ("True", "InfoReported"));

    // A later failure, or a deletion of the bootstrap data, changes nothing.
    world.delete::<Secret>("user-data").await;
    world
        .agent_status(
            "a",
            &json!({"Bound": "True", "Connected": "False"}),
            "added-to-existing-cluster",
        )
        .await;
    sleep(Duration::from_millis(500)).await;
    let machine: AgentMachine = world.get("m").await;
    assert_eq!(machine.status.unwrap().conditions, ready.conditions);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_is_deleted_gives_its_agent_back() {
    let (world, _) = machine_with_agent().await;
    world.installed("a").await;
    world.await_ready("m").await;

    // Deleting the AgentMachine alone has no effect.
    world.delete::<AgentMachine>("m").await;
    eventually("the AgentMachine to say so", async || {
        let machine: AgentMachine = world.get("m").await;
        let status = machine.status.unwrap();
        (condition(&status.conditions, "Deleting") == ("True", "WaitingForMachine")).then_some(())
    })
    .await;
    assert_eq!(world.get_agent("a").await.labels()["agentMachineRef"], "m");

    world.delete_machine("m").await;
    world.awaits_hook("m").await;
    let agent = eventually("the Agent to be given back", async || {
        let agent = world.get_agent("a").await;
        agent.spec.cluster_deployment_name.is_none().then_some(agent)
    })
    .await;
    assert!(!agent.labels().contains_key("agentMachineRef") && agent.spec.approved);
    assert!(agent.spec.ignition_endpoint_token_reference.is_none());
    assert!(agent.spec.ignition_endpoint_http_headers.is_empty());
    // Until the host has left, the Machine stays, and the AgentMachine names the Agent that it waits for.
    world.left("a", "unbinding").await;
    eventually("the AgentMachine to name the Agent", async || {
        let machine: AgentMachine = world.get("m").await;
        let conditions = machine.status?.conditions;
        let deleting = conditions.into_iter().find(|one| one.type_ == "Deleting")?;
        let names =
            deleting.message.contains(&format!("{AGENTS}/a")) && deleting.message.contains("unbinding");
        (deleting.reason == "WaitingForAgent" && names).then_some(())
    })
    .await;
    assert!(world.get_machine("m").await.annotations().contains_key(HOOK));
    world.left("a", "discovering-unbound").await;
    eventually("the hook to be taken off", async || {
        (!world.get_machine("m").await.annotations().contains_key(HOOK)).then_some(())
    })
    .await;
    eventually("the AgentMachine to go", async || {
        world.find::<AgentMachine>("m").await.is_none().then_some(())
    })
    .await;
    eventually("the token to go", async || {
        world
            .find::<Secret>("agent-user-data")
            .await
            .is_none()
            .then_some(())
    })
    .await;
}

/// Cluster API, or the end of the process, interrupts between the removal of the hook and that of the finalizer.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_machine_goes_whose_machine_is_past_the_hook() {
    let (world, _) = machine_with_agent().await;
    world.installed("a").await;
    world.await_ready("m").await;
    world.delete_machine("m").await;
    world.remove_hook("m", HOOK).await;
    world.delete::<AgentMachine>("m").await;
    eventually("the Agent to be given back", async || {
        let agent = world.get_agent("a").await;
        agent.spec.cluster_deployment_name.is_none().then_some(())
    })
    .await;
    world.left("a", "known-unbound").await;
    eventually("the AgentMachine to go", async || {
        world.find::<AgentMachine>("m").await.is_none().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_done_while_something_is_paused() {
    let world = World::start().await;
    world.cluster("one").await;
    world.pause_cluster("one", true).await;
    world.agent("a", &json!({})).await;
    world.bootstrap("user-data", &world::pointer()).await;
    world.machine("m", "user-data", &json!({})).await;
    eventually("the pause to be noticed", async || {
        let machine: AgentMachine = world.get("m").await;
        let status = machine.status?;
        (condition(&status.conditions, "Paused") == ("True", "Paused")).then_some(())
    })
    .await;
    assert!(world.get_agent("a").await.spec.cluster_deployment_name.is_none());
    world.annotate_machine("m", Some("")).await;
    eventually("the annotation to be noticed", async || {
        let machine: AgentMachine = world.get("m").await;
        let conditions = machine.status?.conditions;
        let paused = conditions.into_iter().find(|one| one.type_ == "Paused")?;
        paused.message.contains("The annotation ").then_some(())
    })
    .await;
    world.pause_cluster("one", false).await;
    sleep(Duration::from_millis(300)).await;
    assert!(world.get_agent("a").await.spec.cluster_deployment_name.is_none());
    world.annotate_machine("m", None).await;
    let machine = world.await_taken("m").await;
    assert_eq!(condition(&machine.status.unwrap().conditions, "Paused"), ("", ""));
    // Moved to another management cluster: the AgentMachine is deleted here, and its Agent stays as it is.
    world.annotate_machine("m", Some("true")).await;
    world.delete::<AgentMachine>("m").await;
    eventually("the AgentMachine to go", async || {
        world.find::<AgentMachine>("m").await.is_none().then_some(())
    })
    .await;
    assert!(!world.get_machine("m").await.annotations().contains_key(HOOK));
    assert_eq!(world.get_agent("a").await.labels()["agentMachineRef"], "m");
}
