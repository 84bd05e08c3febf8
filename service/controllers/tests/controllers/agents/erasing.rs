//! Agents of hosts whose disks are erased.

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use muster_api::ids::HostId;
use muster_core::record::{Cleaning, CleaningOutcome, CleaningStage, HostState};
use muster_operations::now;
use muster_resources::Agent;
use muster_resources::names::annotation;
use serde_json::json;

use super::world::World;
use crate::backend::eventually;

fn failed() -> Cleaning {
    Cleaning {
        id: "1".into(),
        since: now(),
        attempt: 1,
        settings: Default::default(),
        stage: CleaningStage::Failed {
            at: now(),
            why: "sda: the disk is frozen".into(),
            goes_on: false,
        },
        restarts: 0,
        awaits_disk: false,
        disks: Vec::new(),
    }
}

async fn skip(world: &World, id: HostId) {
    let skip = json!({"metadata": {"annotations": {(annotation::AGENT_ERASE): "skip"}}});
    world
        .api::<Agent>()
        .patch(&id.to_string(), &PatchParams::default(), &Patch::Merge(skip))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_shows_why_it_cannot_be_erased_and_its_annotation_frees_it() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let id = world
        .host_as(&infra_env, |host| {
            host.state = HostState::DiscoveringUnbound;
            host.data.cleaning = Some(failed());
        })
        .await;
    let shown = eventually("its status to show the failure", async || {
        world.agent(id).await?.status?.cleaning
    });
    let shown = shown.await;
    assert_eq!(shown.state.as_deref(), Some("Failed"));
    assert!(
        shown
            .message
            .is_some_and(|message| message.contains("the disk is frozen"))
    );
    skip(&world, id).await;
    eventually("the annotation to be followed and removed", async || {
        let agent = world.agent(id).await?;
        let is_gone = !agent.annotations().contains_key(annotation::AGENT_ERASE);
        let state = agent.status?.cleaning?.state;
        (is_gone && state.as_deref() == Some("Skipped")).then_some(())
    })
    .await;
    let host = world.host(id).await.unwrap();
    assert_eq!(
        host.data.cleaned.last().unwrap().outcome,
        CleaningOutcome::Skipped
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_deleted_is_held_until_its_host_is_erased() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let id = world
        .host_as(&infra_env, |host| {
            host.state = HostState::DiscoveringUnbound;
            host.data.cleaning = Some(failed());
            host.checked_in_at = now();
        })
        .await;
    world.delete_agent(id).await;
    eventually("the Agent to say that it is held", async || {
        let agent = world.agent(id).await?;
        let is_deleted = agent.metadata.deletion_timestamp.is_some();
        let conditions = agent.status?.conditions;
        let is_held = conditions.iter().any(|one| one.type_ == "Cleanup");
        (is_deleted && is_held).then_some(())
    })
    .await;
    assert!(world.host(id).await.is_some());
    skip(&world, id).await;
    eventually("the Agent to go", async || {
        world.agent(id).await.is_none().then_some(())
    })
    .await;
}
