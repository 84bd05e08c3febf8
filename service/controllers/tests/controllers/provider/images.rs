//! The OS image that a Machine wants.

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use muster_api::steps::ImageConfiguration;
use muster_resources::AgentMachine;
use serde_json::{Value, json};

use super::world::{self, World, condition};
use crate::backend::{eventually, os_images};

const OS_IMAGE: &str = "agent.agent-install.openshift.io/os-image";
const KUBERNETES_VERSION: &str = "agent.agent-install.openshift.io/kubernetes-version";

/// A service with two images, a Cluster, and Agents of x86_64 with these names.
async fn with_agents(names: &[&str]) -> World {
    let images = os_images(&[("debian-old", "1.34.4"), ("debian-new", "1.35.1")]);
    let world = World::start_with(images).await;
    world.cluster("one").await;
    world.bootstrap("user-data", &world::pointer()).await;
    for name in names {
        world.agent(name, &json!({})).await;
        world.agent_past(name, "x86_64", &Value::Null).await;
    }
    world
}

/// The message of `AgentReserved` once it contains these words.
async fn waits_for(world: &World, name: &str, words: &str) -> String {
    eventually(&format!("{name} to wait"), async || {
        let machine: AgentMachine = world.get(name).await;
        let status = machine.status?;
        let waits = condition(&status.conditions, "AgentReserved") == ("False", "AgentNotYetFound");
        let reserved = status
            .conditions
            .into_iter()
            .find(|one| one.type_ == "AgentReserved")?;
        (waits && reserved.message.contains(words)).then_some(reserved.message)
    })
    .await
}

async fn set_image(world: &World, name: &str, image: Value) {
    let patch = Patch::Merge(json!({"spec": {"osImage": image}}));
    let api = world.api::<AgentMachine>();
    api.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_the_list_does_not_have_is_refused_before_an_agent_is_taken() {
    let world = with_agents(&["a"]).await;
    world
        .machine(
            "m",
            "user-data",
            &json!({"osImage": "gone", "version": "v1.34.4"}),
        )
        .await;
    let message = waits_for(&world, "m", "spec.osImage is").await;
    assert!(
        message.contains("\"gone\"") && message.contains("debian-new, debian-old"),
        "{message}"
    );
    let agent = world.get_agent("a").await;
    assert!(!agent.labels().contains_key("agentMachineRef") && !agent.annotations().contains_key(OS_IMAGE));

    // An image with another Kubernetes than the Machine's would not become its node.
    set_image(&world, "m", json!("debian-new")).await;
    let message = waits_for(&world, "m", "the Machine wants 1.34.4").await;
    assert!(message.contains("has Kubernetes 1.35.1"), "{message}");

    set_image(&world, "m", json!("debian-old")).await;
    world.await_taken("m").await;
    let agent = world.get_agent("a").await;
    assert_eq!(agent.annotations()[OS_IMAGE], "debian-old");
    assert_eq!(agent.annotations()[KUBERNETES_VERSION], "1.34.4");

    world.delete_machine("m").await;
    world.awaits_hook("m").await;
    let agent = eventually("the Agent to be given back", async || {
        let agent = world.get_agent("a").await;
        agent.spec.cluster_deployment_name.is_none().then_some(agent)
    })
    .await;
    let annotations = agent.annotations();
    assert!(!annotations.contains_key(OS_IMAGE) && !annotations.contains_key(KUBERNETES_VERSION));
}

#[tokio::test(flavor = "multi_thread")]
async fn bootstrap_data_and_image_fit_together_before_an_agent_is_taken() {
    let mut images = os_images(&[("coreos", "1.34.4"), ("debian", "1.34.4")]);
    images[1].metal.as_mut().unwrap().configuration = ImageConfiguration::CloudInit;
    let world = World::start_with(images).await;
    world.cluster("one").await;
    world.agent("a", &json!({})).await;
    world.agent_past("a", "x86_64", &Value::Null).await;
    let packages = json!("#cloud-config\npackages: [hunter2]\n");
    world.bootstrap("cloud", &packages).await;
    world.machine("m", "cloud", &json!({"osImage": "coreos"})).await;
    let message = waits_for(&world, "m", "is refused: `packages`: ").await;
    assert!(
        message.contains("Ignition configures the OS image") && !message.contains("hunter2"),
        "{message}"
    );
    world.bootstrap("pointer", &world::pointer()).await;
    world
        .machine("m2", "pointer", &json!({"osImage": "debian"}))
        .await;
    let message = waits_for(&world, "m2", "spec.osImage is \"debian\"").await;
    assert!(
        message.contains("cloud-init configures the OS image") && message.contains("format: cloud-config"),
        "{message}"
    );
    set_image(&world, "m", json!("debian")).await;
    world.await_taken("m").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_of_a_machine_waits_for_an_image_with_it() {
    let world = with_agents(&["a"]).await;
    world
        .machine("m", "user-data", &json!({"version": "v1.36.0"}))
        .await;
    let message = waits_for(&world, "m", "spec.version of the Machine is 1.36.0").await;
    assert!(message.ends_with("has 1.34.4, 1.35.1"), "{message}");
    assert!(
        !world
            .get_agent("a")
            .await
            .labels()
            .contains_key("agentMachineRef")
    );
    world.bootstrap("other-data", &world::pointer()).await;
    world
        .machine("m2", "other-data", &json!({"version": "v1.35.1"}))
        .await;
    world.await_taken("m2").await;
    let agent = world.get_agent("a").await;
    assert_eq!(agent.annotations()[KUBERNETES_VERSION], "1.35.1");
    assert!(!agent.annotations().contains_key(OS_IMAGE));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_another_architecture_than_the_image_is_not_taken() {
    let world = with_agents(&["b"]).await;
    world.agent("a", &json!({})).await;
    world.agent_past("a", "aarch64", &Value::Null).await;
    world
        .machine("m", "user-data", &json!({"osImage": "debian-new"}))
        .await;
    let machine = world.await_taken("m").await;
    let status = machine.status.unwrap();
    assert_eq!(status.agent_ref.unwrap().name, "b");
    assert_eq!(status.candidates[0].reason, "WithoutImage");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_kubernetes_versions_in_the_list_any_machine_takes_an_agent() {
    let world = World::start().await;
    world.cluster("one").await;
    world.bootstrap("user-data", &world::pointer()).await;
    world.agent("a", &json!({})).await;
    world
        .machine("m", "user-data", &json!({"version": "v1.36.0"}))
        .await;
    world.await_taken("m").await;
    assert_eq!(
        world.get_agent("a").await.annotations()[KUBERNETES_VERSION],
        "1.36.0"
    );
}
