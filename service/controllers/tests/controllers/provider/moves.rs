//! Clusters that `clusterctl move` takes to another management cluster, and from one to this. Source: docs/protocol/capi-day1.md, section 1.

use kube::ResourceExt;
use muster_resources::{AgentCluster, AgentMachine, ClusterDeployment};
use serde_json::json;

use super::machine_with_agent;
use super::world::{self, AGENTS, World, condition};
use crate::backend::eventually;

const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";

/// clusterctl moves no status, and Agents are none of its objects.
#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_was_moved_here_waits_for_its_own_agent_and_takes_no_other() {
    let world = World::start().await;
    world.cluster("one").await;
    world.agent("free", &json!({})).await;
    world.bootstrap("user-data", &world::pointer()).await;
    let moved = json!({"providerID": "agent://a"});
    world.machine("m", "user-data", &moved).await;
    let waits_for = async |what: &str| {
        eventually(what, async || {
            let machine: AgentMachine = world.get("m").await;
            let conditions = machine.status?.conditions;
            let reserved = conditions.into_iter().find(|one| one.type_ == "AgentReserved")?;
            let is_it = reserved.reason == "AgentNotYetFound" && reserved.message.contains(what);
            is_it.then_some(())
        })
        .await;
    };
    waits_for(&format!("Waits for the Agent {AGENTS}/a")).await;
    // The service makes it again; first its host is not known to be of the cluster.
    world.agent("a", &json!({})).await;
    waits_for("is not bound to the ClusterDeployment").await;
    world.bind_agent("a", "one").await;
    world.installed("a").await;
    let status = world.await_ready("m").await;
    assert_eq!(status.agent_ref.unwrap().name, "a");
    assert_eq!(status.initialization.unwrap().provisioned, Some(true));
    let agent = world.get_agent("a").await;
    assert_eq!(agent.labels()["agentMachineRef"], "m");
    let free = world.get_agent("free").await;
    assert!(free.spec.cluster_deployment_name.is_none() && !free.labels().contains_key("agentMachineRef"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_is_moved_away_leaves_its_agent_taken() {
    let (world, _) = machine_with_agent().await;
    world.installed("a").await;
    world.await_ready("m").await;
    world.annotate::<AgentMachine>("m", DELETE_FOR_MOVE, "").await;
    world.delete::<AgentMachine>("m").await;
    eventually("the AgentMachine to go", async || {
        world.find::<AgentMachine>("m").await.is_none().then_some(())
    })
    .await;
    let agent = world.get_agent("a").await;
    assert_eq!(agent.labels()["agentMachineRef"], "m");
    assert!(agent.spec.cluster_deployment_name.is_some());
}

/// clusterctl pauses Clusters first, and deletes an AgentCluster later without its finalizers.
#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_deployment_of_a_paused_cluster_does_not_go_with_its_agent_cluster() {
    let world = World::start().await;
    world.cluster("one").await;
    let owners = async |count: usize| {
        eventually("the owners of the ClusterDeployment", async || {
            let deployment = world.find::<ClusterDeployment>("one").await?;
            (deployment.owner_references().len() == count).then_some(())
        })
        .await;
    };
    owners(1).await;
    world.pause_cluster("one", true).await;
    owners(0).await;
    eventually("the pause to be shown", async || {
        let cluster: AgentCluster = world.get("one").await;
        let conditions = cluster.status?.conditions;
        (condition(&conditions, "Paused") == ("True", "Paused")).then_some(())
    })
    .await;
    world.pause_cluster("one", false).await;
    owners(1).await;
    // One that is deleted before the pause was seen is let go by its annotation.
    world.annotate::<AgentCluster>("one", DELETE_FOR_MOVE, "").await;
    owners(0).await;
    world.delete::<AgentCluster>("one").await;
    eventually("the AgentCluster to go", async || {
        world.find::<AgentCluster>("one").await.is_none().then_some(())
    })
    .await;
    assert!(world.find::<ClusterDeployment>("one").await.is_some());
}
