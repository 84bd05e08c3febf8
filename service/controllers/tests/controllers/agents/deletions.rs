//! Deleted hosts and Agents: what is made again, held, or left behind.

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use muster_core::lifecycle::host::Machine;
use muster_core::record::{HostState, NodeAgent};
use muster_operations::now;
use muster_resources::{Agent, AgentClusterInstall, ClusterDeployment};
use serde_json::json;

use super::world::{World, reason};
use crate::backend::eventually;

/// The state when the controllers do not see the deletion, or see it late.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_begins_anew_for_a_host_that_was_deleted_and_registers_again() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let id = world.register(&infra_env).await;
    eventually("the Agent", async || world.agent(id).await).await;
    world
        .edit(id, json!({"approved": true, "hostname": "first"}))
        .await;
    eventually("the approval", async || {
        world.host(id).await.filter(|host| host.data.approved)
    })
    .await;
    let hosts = &world.backend.operations.hosts;
    hosts.delete(infra_env.id, id).await.unwrap();
    hosts
        .register(infra_env.id, id, "v", Machine::default())
        .await
        .unwrap();
    let since = world
        .host(id)
        .await
        .unwrap()
        .data
        .created_at
        .timestamp_micros()
        .to_string();
    let agent = eventually("the Agent of the new host", async || {
        let agent = world.agent(id).await?;
        let shown = agent
            .annotations()
            .get("agent.agent-install.openshift.io/host-since")?;
        (*shown == since).then_some(agent)
    })
    .await;
    assert!(
        !agent.spec.approved && agent.spec.hostname.is_none(),
        "{:?}",
        agent.spec
    );
    let host = world.host(id).await.unwrap();
    assert!(!host.data.approved && host.data.requested_hostname.is_none());
}

/// The controllers see the deletion of the first host's Agent only when the machine is registered again.
#[tokio::test(flavor = "multi_thread")]
async fn the_deletion_of_an_agent_leaves_a_host_that_registered_again_alone() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let id = world.register(&infra_env).await;
    let first = eventually("the Agent", async || world.agent(id).await).await;
    let api = world.api::<Agent>();
    let backend = world.stop().await;
    let hosts = &backend.operations.hosts;
    hosts.delete(infra_env.id, id).await.unwrap();
    api.delete(&id.to_string(), &Default::default()).await.unwrap();
    hosts
        .register(infra_env.id, id, "v", Machine::default())
        .await
        .unwrap();
    let registered = hosts.get(infra_env.id, id).await.unwrap();
    let world = World::on(backend);
    eventually("another Agent", async || {
        let agent = world.agent(id).await?;
        (agent.uid() != first.uid()).then_some(())
    })
    .await;
    let kept = world.host(id).await.unwrap();
    assert_eq!(kept.data.created_at, registered.data.created_at);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_removed_by_force_is_created_again() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let id = world.register(&infra_env).await;
    let first = eventually("the Agent", async || world.agent(id).await).await;
    let api = world.api::<Agent>();
    let name = id.to_string();
    let unheld = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    // The controller sets its finalizer again, so this may take several attempts.
    let second = eventually("another Agent", async || {
        let params = PatchParams::default();
        let agent = world.agent(id).await?;
        if agent.uid() != first.uid() {
            return Some(agent);
        }
        let _ = api.patch(&name, &params, &unheld).await;
        let _ = api.delete(&name, &Default::default()).await;
        None
    });
    let second = second.await;
    assert_ne!(second.uid(), first.uid());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_node_returns_is_held_until_it_is_back() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let id = world
        .host_as(&infra_env, |host| {
            host.state = HostState::Reclaiming;
            host.data.node_agent = NodeAgent::Installed;
            host.data.status_updated_at = now();
            host.checked_in_at = now();
        })
        .await;
    let first = world.agent(id).await.unwrap().uid();
    world.delete_agent(id).await;
    eventually("the Agent to say that it is held", async || {
        let agent = world.agent(id).await.unwrap();
        (reason(&agent, "Cleanup") == Some("Reclaiming")).then_some(())
    })
    .await;
    assert_eq!(world.state(id).await.as_deref(), Some("reclaiming"));
    // The host boots the discovery image.
    let hosts = &world.backend.operations.hosts;
    hosts
        .register(infra_env.id, id, "v", Machine::default())
        .await
        .unwrap();
    eventually("the Agent to go", async || {
        world.agent(id).await.is_none().then_some(())
    })
    .await;
    assert!(world.host(id).await.is_none());
    hosts
        .register(infra_env.id, id, "v", Machine::default())
        .await
        .unwrap();
    let second = eventually("another Agent", async || world.agent(id).await).await;
    assert_ne!(second.uid(), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_node_cannot_return_goes_with_a_word_about_its_machine() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let cluster = world.cluster("one").await;
    for node_agent in [NodeAgent::Installed, NodeAgent::Absent] {
        let id = world
            .host_as(&infra_env, |host| {
                host.state = HostState::AddedToExistingCluster;
                host.cluster_id = Some(cluster.id);
                host.data.node_agent = node_agent;
                host.data.requested_hostname = Some("worker-1".into());
            })
            .await;
        world.delete_agent(id).await;
        // The service of this test has no image that the node could boot.
        eventually("the Agent to go", async || {
            world.agent(id).await.is_none().then_some(())
        })
        .await;
        let said = world.event("HostLeftBehind", &id.to_string()).await;
        assert!(said.contains("boot it into the discovery image"), "{said}");
        assert!(
            said.contains("the cluster default/one") && said.contains("worker-1"),
            "{said}"
        );
    }
    let said = world.event("HostLeftBehind", "hw").await;
    assert!(said.contains("worker-1"), "{said}");
}

/// `clusterctl move` deletes a cluster's resources here once another management cluster has them. The worst order: the finalizers, which it
/// takes off, are on again.
#[tokio::test(flavor = "multi_thread")]
async fn resources_that_move_to_another_management_cluster_leave_the_cluster_and_its_hosts_as_they_are() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let cluster = world.cluster("one").await;
    let id = world
        .host_as(&infra_env, |host| {
            host.state = HostState::AddedToExistingCluster;
            host.cluster_id = Some(cluster.id);
        })
        .await;
    let moved = Patch::Merge(json!({"metadata": {"annotations": {
        "clusterctl.cluster.x-k8s.io/delete-for-move": "",
    }}}));
    let params = PatchParams::default();
    let (installs, deployments) = (
        world.api::<AgentClusterInstall>(),
        world.api::<ClusterDeployment>(),
    );
    installs.patch("one", &params, &moved).await.unwrap();
    deployments.patch("one", &params, &moved).await.unwrap();
    installs.delete("one", &Default::default()).await.unwrap();
    deployments.delete("one", &Default::default()).await.unwrap();
    eventually("the resources to go", async || {
        let install = installs.get_opt("one").await.unwrap();
        let deployment = deployments.get_opt("one").await.unwrap();
        (install.is_none() && deployment.is_none()).then_some(())
    })
    .await;
    let host = world.host(id).await.unwrap();
    assert_eq!(host.cluster_id, Some(cluster.id));
    assert_eq!(host.state, HostState::AddedToExistingCluster);
    let agent = world.agent(id).await.unwrap();
    assert!(agent.spec.cluster_deployment_name.is_some());
}
