//! Bootstrap data of Machines: awaited, handed over, and Secrets that are not ours.

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use muster_resources::AgentMachine;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::world::{self, NAMESPACE, World};
use crate::backend::eventually;

#[tokio::test(flavor = "multi_thread")]
async fn bootstrap_data_is_awaited_and_a_whole_config_is_handed_over_as_it_is() {
    let world = World::start().await;
    world.cluster("one").await;
    world.agent("a", &json!({})).await;
    world.machine("m", "data", &json!({})).await;
    let message = async || {
        let machine: AgentMachine = world.get("m").await;
        let status = machine.status?;
        let found = status
            .conditions
            .into_iter()
            .find(|one| one.type_ == "AgentReserved")?;
        (found.reason == "AgentNotYetFound").then_some(found.message)
    };
    eventually("the missing Secret to be named", async || {
        message()
            .await
            .filter(|it| it.contains(&format!("the Secret {NAMESPACE}/data does not exist")))
    })
    .await;
    let packages = json!("#cloud-config\npackages: [containerd]\n");
    world.bootstrap("data", &packages).await;
    eventually(
        "what cannot come true to be named before an Agent is taken",
        async || {
            message()
                .await
                .filter(|it| it.contains("is refused: `packages`: "))
        },
    )
    .await;
    let whole = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/x"}]}});
    world.bootstrap("data", &whole).await;
    world.await_taken("m").await;
    let secret: Secret = world.get("agent-data").await;
    let data = secret.data.unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["ignition"]);
    assert_eq!(
        serde_json::from_slice::<Value>(&data["ignition"].0).unwrap(),
        whole
    );
    let agent = world.get_agent("a").await;
    assert_eq!(agent.spec.machine_config_pool, None);
    assert_eq!(
        agent.spec.ignition_endpoint_token_reference.unwrap().name,
        "agent-data"
    );

    // Nothing is written when nothing changes, whatever else the Agent reports.
    let versions = async || {
        let machine: AgentMachine = world.get("m").await;
        (
            machine.resource_version(),
            world.get_agent("a").await.resource_version(),
        )
    };
    eventually("a second without a write", async || {
        let before = versions().await;
        sleep(Duration::from_secs(1)).await;
        (versions().await == before).then_some(())
    })
    .await;

    // The data is replaced while the host is being installed: its Agent keeps what it has.
    world.delete::<Secret>("data").await;
    world.installed("a").await;
    world.await_ready("m").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cloud_config_is_handed_over_under_a_key_of_its_own() {
    let world = World::start().await;
    world.cluster("one").await;
    world.agent("a", &json!({})).await;
    let text =
        "## template: jinja\n#cloud-config\nruncmd:\n- kubeadm join {{ ds.meta_data.local_hostname }}\n";
    world.bootstrap("data", &json!(text)).await;
    world.machine("m", "data", &json!({})).await;
    world.await_taken("m").await;
    let secret: Secret = world.get("agent-data").await;
    let data = secret.data.unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["user-data"]);
    assert_eq!(data["user-data"].0, text.as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_somebody_else_is_not_written_to() {
    let world = World::start().await;
    world.cluster("one").await;
    world.agent("a", &json!({})).await;
    world.bootstrap("agent-user-data", &json!("theirs")).await;
    world.bootstrap("user-data", &world::pointer()).await;
    world.machine("m", "user-data", &json!({})).await;
    eventually("the AgentMachine to say why", async || {
        let machine: AgentMachine = world.get("m").await;
        let conditions = machine.status?.conditions;
        let reserved = conditions.into_iter().find(|one| one.type_ == "AgentReserved")?;
        reserved.message.contains("somebody else's").then_some(())
    })
    .await;
    let secret: Secret = world.get("agent-user-data").await;
    assert_eq!(secret.data.unwrap().into_keys().collect::<Vec<_>>(), ["value"]);
    let machine: AgentMachine = world.get("m").await;
    assert!(machine.status.unwrap().agent_ref.is_none());
}
