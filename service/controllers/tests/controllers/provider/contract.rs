//! The contract of Cluster API: what templates promise, and objects that are another's.

use kube::ResourceExt;
use kube::api::PostParams;
use muster_resources::{AgentCluster, AgentMachineTemplate, AgentMachineTemplateStatus, AgentRemediation};
use serde_json::{Value, json};

use super::world::{World, condition};
use crate::backend::eventually;

#[tokio::test(flavor = "multi_thread")]
async fn a_template_says_what_the_agents_that_it_selects_have() {
    let world = World::start().await;
    world
        .template("pool", json!({"matchLabels": {"size": "large"}}))
        .await;
    world
        .template("none", json!({"matchLabels": {"size": "none"}}))
        .await;
    world.agent("small", &json!({})).await;
    world.agent("large", &json!({"labels": {"size": "large"}})).await;
    let status = async |name: &str| {
        let template: AgentMachineTemplate = world.get(name).await;
        template.status
    };
    let found = eventually("the capacity", async || {
        status("pool").await.filter(|status| !status.capacity.is_empty())
    })
    .await;
    let capacity = |name: &str| found.capacity.get(name).map(String::as_str);
    assert_eq!(capacity("cpu"), Some("8"));
    assert_eq!(capacity("memory"), Some("17179869184"));
    assert_eq!(capacity("pods"), Some("110"));
    let info = found.node_info.clone().unwrap();
    assert_eq!(
        (info.architecture.as_str(), info.operating_system.as_str()),
        ("amd64", "linux")
    );
    assert_eq!(
        status("none").await.unwrap_or_default(),
        AgentMachineTemplateStatus::default()
    );
    // It is gone with the last Agent that fits.
    world.label_agent("large", "size", "small").await;
    eventually("the capacity to go", async || {
        let status = status("pool").await.unwrap_or_default();
        (status == AgentMachineTemplateStatus::default()).then_some(())
    })
    .await;
}

/// True for an object that the provider has taken up.
fn is_taken_up(cluster: &AgentCluster) -> bool {
    !cluster.finalizers().is_empty() && cluster.status.is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_cluster_of_another_manager_is_left_alone() {
    let world = World::start().await;
    let managed = json!({"annotations": {"cluster.x-k8s.io/managed-by": "somebody"}});
    world.agent_cluster("theirs", managed).await;
    world.agent_cluster("ours", json!({})).await;
    let ours = eventually("the other one to be taken up", async || {
        let cluster: AgentCluster = world.get("ours").await;
        is_taken_up(&cluster).then_some(cluster)
    })
    .await;
    let conditions = ours.status.unwrap().conditions;
    assert_eq!(condition(&conditions, "Ready").1, "WaitingForCluster");
    let theirs: AgentCluster = world.get("theirs").await;
    assert!(theirs.finalizers().is_empty() && theirs.status.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_with_a_watch_filter_leaves_objects_of_other_instances_alone() {
    let world = World::start_filtered("rack-1").await;
    let of = |instance: &str| json!({"labels": {"cluster.x-k8s.io/watch-filter": instance}});
    world.agent_cluster("none", json!({})).await;
    world.agent_cluster("theirs", of("rack-2")).await;
    world.agent_cluster("ours", of("rack-1")).await;
    eventually("ours to be taken up", async || {
        let cluster: AgentCluster = world.get("ours").await;
        is_taken_up(&cluster).then_some(())
    })
    .await;
    for name in ["none", "theirs"] {
        let cluster: AgentCluster = world.get(name).await;
        assert!(
            cluster.finalizers().is_empty() && cluster.status.is_none(),
            "{name}"
        );
    }
    let remediation = async |name: &str, metadata: Value| {
        let mut object = json!({"metadata": metadata, "spec": {}});
        object["metadata"]["name"] = json!(name);
        let object: AgentRemediation = serde_json::from_value(object).unwrap();
        let api = world.api::<AgentRemediation>();
        api.create(&PostParams::default(), &object).await.unwrap();
    };
    remediation("none", json!({})).await;
    remediation("ours", of("rack-1")).await;
    eventually("ours to be remediated", async || {
        let object: AgentRemediation = world.get("ours").await;
        object.status.map(drop)
    })
    .await;
    let none: AgentRemediation = world.get("none").await;
    assert_eq!(none.status, None);
}
