//! Nodes that are installed again in their cluster, at the request of an annotation of their Agents.

use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use muster_api::host::HostKind;
use muster_api::ids::HostId;
use muster_api::time::millis;
use muster_core::record::{Host, HostState, NodeAgent};
use muster_operations::now;
use muster_resources::{Agent, AgentReboot, AgentRebootOutcome};
use serde_json::json;

use super::world::World;
use crate::backend::eventually;

/// Requests that the host is installed again, `after` seconds after now. Returns the time of the request.
async fn request(world: &World, id: HostId, after: u64) -> String {
    let text = millis(Some(now() + Duration::from_secs(after)));
    let annotations = json!({"agent.agent-install.openshift.io/reinstall-requested": text});
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let api = world.api::<Agent>();
    api.patch(&id.to_string(), &PatchParams::default(), &patch)
        .await
        .unwrap();
    text
}

async fn answered(world: &World, id: HostId, at: &str, outcome: AgentRebootOutcome) -> AgentReboot {
    eventually(&format!("the answer {outcome:?}"), async || {
        let agent = world.agent(id).await?;
        let text = agent
            .annotations()
            .get("agent.agent-install.openshift.io/reinstall")?;
        let answer: AgentReboot = serde_json::from_str(text).unwrap();
        (answer.requested == at && answer.outcome == outcome).then_some(answer)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_installed_again_once_for_each_request_and_a_restart_repeats_none() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let cluster = world.cluster("one").await;
    let cluster_id = cluster.id;
    let id = world
        .host_as(&infra_env, move |host: &mut Host| {
            host.state = HostState::AddedToExistingCluster;
            host.cluster_id = Some(cluster_id);
            host.data.kind = HostKind::AddToExistingClusterHost;
            host.data.node_agent = NodeAgent::Installed;
        })
        .await;
    let free = world
        .host_as(&infra_env, |host: &mut Host| {
            host.state = HostState::KnownUnbound;
        })
        .await;

    let first = request(&world, id, 1).await;
    answered(&world, id, &first, AgentRebootOutcome::Pending).await;
    let hosts = world.backend.operations.hosts.clone();
    let host = hosts.find(infra_env.id, id).await.unwrap().unwrap();
    assert_eq!(host.state, HostState::ResettingPendingUserAction);
    assert_eq!(host.cluster_id, Some(cluster_id), "it stays in its cluster");

    // Every Agent is reconciled after a restart.
    let world = World::on(world.stop().await);
    request(&world, free, 1).await;
    let hosts = world.backend.operations.hosts.clone();
    eventually("the Agent to show what happens", async || {
        let agent = world.agent(id).await?;
        let info = agent.status.unwrap_or_default().debug_info?.state_info?;
        info.contains("installed again, in its cluster").then_some(())
    })
    .await;
    answered(&world, id, &first, AgentRebootOutcome::Pending).await;
    let host = hosts.find(infra_env.id, free).await.unwrap().unwrap();
    assert_eq!(host.data.asked_reinstall, None, "it is no node");
}
