//! The OS image that an Agent requests for its host.

use kube::api::{Patch, PatchParams};
use muster_api::ids::HostId;
use muster_core::record::HostState;
use muster_operations::now;
use muster_resources::Agent;
use serde_json::json;

use super::world::{World, reason};
use crate::backend::{Backend, eventually, os_images};

async fn request(world: &World, id: HostId, image: Option<&str>) {
    let annotations = json!({"agent.agent-install.openshift.io/os-image": image});
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let api = world.api::<Agent>();
    api.patch(&id.to_string(), &PatchParams::default(), &patch)
        .await
        .unwrap();
}

async fn await_wish(world: &World, id: HostId, name: &str) {
    eventually(&format!("the host to have the image {name:?}"), async || {
        let host = world.host(id).await?;
        (host.data.image_wish.name == name).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_image_of_an_agent_is_its_hosts_and_one_that_is_not_in_the_list_is_a_problem() {
    let images = os_images(&[("debian-13", "1.34.4")]);
    let world = World::on(Backend::open_with(now(), images).await);
    let infra_env = world.infra_env().await;
    let cluster = world.cluster("one").await;
    let id = world
        .host_as(&infra_env, |host| {
            host.state = HostState::Binding;
            host.cluster_id = Some(cluster.id);
        })
        .await;
    request(&world, id, Some("debian-13")).await;
    await_wish(&world, id, "debian-13").await;
    let agent = world.agent(id).await.unwrap();
    assert_eq!(reason(&agent, "SpecSynced"), Some("SyncOK"));

    request(&world, id, Some("https://evil.example.test/image.raw")).await;
    let said = eventually("the refusal", async || {
        let agent = world.agent(id).await?;
        let conditions = agent.status?.conditions;
        let synced = conditions.into_iter().find(|one| one.type_ == "SpecSynced")?;
        let is_refused = synced.reason.as_deref() == Some("InputError");
        synced.message.filter(|_| is_refused)
    })
    .await;
    assert!(said.contains("has debian-13"), "{said}");
    // It is kept as a name that the list does not have: nothing is installed with another image.
    await_wish(&world, id, "https://evil.example.test/image.raw").await;

    request(&world, id, None).await;
    await_wish(&world, id, "").await;
    eventually("the spec to be followed", async || {
        let agent = world.agent(id).await?;
        (reason(&agent, "SpecSynced") == Some("SyncOK")).then_some(())
    })
    .await;
}
