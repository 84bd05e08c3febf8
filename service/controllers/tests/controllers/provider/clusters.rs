//! AgentClusters: the objects that hosts are bound to.

use kube::ResourceExt;
use muster_resources::{AgentCluster, AgentClusterInstall, ClusterDeployment};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::world::{World, condition};
use crate::backend::eventually;

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_cluster_makes_what_hosts_are_bound_to_and_says_what_it_waits_for() {
    let world = World::start().await;
    // Plain Cluster API: no control plane object.
    world.cluster("plain").await;
    let ready = async |name: &str| {
        let cluster: AgentCluster = world.get(name).await;
        let status = cluster.status?;
        let reason = condition(&status.conditions, "Ready").1.to_owned();
        Some((status, reason))
    };
    eventually("the plain one to be ready", async || {
        ready("plain").await.filter(|(status, _)| status.ready)
    })
    .await;
    let deployment: ClusterDeployment = world.get("plain").await;
    let metadata = deployment.spec.cluster_metadata.clone().unwrap();
    assert_eq!(metadata.admin_kubeconfig_secret_ref.name, "plain-kubeconfig");
    assert!(deployment.spec.pull_secret_ref.is_none() && deployment.spec.installed == Some(true));
    assert_eq!(deployment.labels()["agentClusterRef"], "plain");
    assert_eq!(deployment.owner_references()[0].kind, "AgentCluster");
    let install: AgentClusterInstall = world.get("plain").await;
    assert_eq!(install.spec.provision_requirements.control_plane_agents, 3);
    assert_eq!(
        install.spec.ignition_endpoint.unwrap().url.as_deref(),
        Some("https://ignition.example.test:31111")
    );

    // HyperShift's control plane must exist with its names first.
    world.hosted_cluster("hosted").await;
    let awaits = async |reason: &str| {
        eventually(reason, async || {
            ready("hosted").await.filter(|(_, found)| found == reason)
        })
        .await
    };
    awaits("WaitingForControlPlane").await;
    world.control_plane("hosted").await;
    awaits("WaitingForControlPlaneEndpoint").await;
    let deployment: ClusterDeployment = world.get("hosted").await;
    assert_eq!(deployment.spec.base_domain, "example.test");
    assert_eq!(deployment.spec.pull_secret_ref.unwrap().name, "pull-secret");
    world.endpoint("hosted").await;
    awaits("AgentClusterReady").await;

    // A ClusterDeployment that was made elsewhere is not changed.
    world.foreign_deployment("theirs").await;
    world.cluster("theirs").await;
    eventually("the conflict", async || {
        ready("theirs")
            .await
            .filter(|(_, reason)| reason == "ClusterDeploymentConflict")
    })
    .await;
    world.delete::<ClusterDeployment>("theirs").await;
    eventually("it to be made", async || {
        ready("theirs").await.filter(|(status, _)| status.ready)
    })
    .await;
    // The ClusterDeployment is deleted with its AgentCluster, to which it belongs.
    world.delete::<AgentCluster>("plain").await;
    eventually("the ClusterDeployment to go", async || {
        world
            .find::<ClusterDeployment>("plain")
            .await
            .is_none()
            .then_some(())
    })
    .await;
}

/// Another cluster has the address: kubeadm would take it for the new one, and join it.
#[tokio::test(flavor = "multi_thread")]
async fn no_machine_is_made_while_somebody_answers_at_the_address_of_a_new_api() {
    let world = World::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let other = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 256];
            let read = stream.read(&mut request).await;
            let answered = stream.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n").await;
            drop((read, answered));
        }
    });
    world.kubeadm_cluster("new", port).await;
    let ready = async |wanted: &str| {
        eventually(wanted, async || {
            let cluster: AgentCluster = world.get("new").await;
            let status = cluster.status?;
            let found = status.conditions.iter().find(|one| one.type_ == "Ready")?;
            (found.reason == wanted).then(|| (status.ready, found.message.clone()))
        })
        .await
    };
    let (is_ready, message) = ready("EndpointInUse").await;
    assert!(
        !is_ready && message.contains(&format!("127.0.0.1:{port}")),
        "{message}"
    );
    other.abort();
    drop(other.await);
    world
        .annotate::<AgentCluster>("new", "lab.example/look", "again")
        .await;
    assert!(ready("AgentClusterReady").await.0);
}
