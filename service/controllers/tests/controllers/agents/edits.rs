//! Edits of Agents: they reach hosts, are refused with a reason, or are put right.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, WatchParams};
use kube::core::WatchEvent;
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::HostState;
use muster_core::rules::limits::USUAL_SILENCE;
use muster_operations::now;
use muster_resources::Agent;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::world::{World, reason};
use crate::backend::{SOON, eventually};

/// The number of writes that the watch shows before the first one of which `is` is true.
async fn writes_before(
    watch: &mut BoxStream<'_, kube::Result<WatchEvent<Agent>>>,
    is: impl Fn(&Agent) -> bool,
) -> usize {
    let counted = async {
        let mut writes = 0;
        while let Some(event) = watch.next().await {
            match event.unwrap() {
                WatchEvent::Added(agent) | WatchEvent::Modified(agent) | WatchEvent::Deleted(agent) => {
                    if is(&agent) {
                        return writes;
                    }
                    writes += 1;
                }
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(error) => panic!("{error:?}"),
            }
        }
        panic!("the watch ended");
    };
    timeout(SOON, counted)
        .await
        .unwrap_or_else(|_| panic!("the watch is awaited"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_becomes_an_agent_whose_edits_reach_it_and_both_go_together() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let mut watch = world
        .api::<Agent>()
        .watch(&WatchParams::default(), "0")
        .await
        .unwrap()
        .boxed();
    let id = world.register(&infra_env).await;
    let agent = eventually("a status", async || {
        let agent = world.agent(id).await?;
        reason(&agent, "Connected").is_some().then_some(agent)
    })
    .await;
    assert_eq!(reason(&agent, "Bound"), Some("Unbound"));
    assert_eq!(
        agent.finalizers(),
        ["agent.agent-install.openshift.io/ai-deprovision"]
    );
    assert_eq!(agent.owner_references().len(), 1);

    // Created, and one status: nothing else is written between them and the edit, which is made when all is quiet.
    sleep(Duration::from_millis(1500)).await;
    world
        .edit(
            id,
            json!({"approved": true, "hostname": "first", "role": "worker"}),
        )
        .await;
    let writes = writes_before(&mut watch, |agent| agent.spec.approved).await;
    assert_eq!(writes, 2, "an Agent without inventory costs two writes");
    eventually("the host to be approved and named", async || {
        let host = world.host(id).await?;
        let named = host.data.requested_hostname.as_deref() == Some("first");
        (host.data.approved && named).then_some(())
    })
    .await;

    world.edit(id, json!({"hostname": "Not_Valid"})).await;
    eventually("the refusal", async || {
        let agent = world.agent(id).await?;
        (reason(&agent, "SpecSynced") == Some("InputError")).then_some(())
    })
    .await;
    world.event("InputError", &id.to_string()).await;

    world
        .backend
        .operations
        .hosts
        .delete(infra_env.id, id)
        .await
        .unwrap();
    eventually("the Agent to go with its host", async || {
        world.agent(id).await.is_none().then_some(())
    })
    .await;
    assert!(
        world
            .backend
            .operations
            .bridge
            .status()
            .to_string()
            .starts_with("ok, leading")
    );
}

/// An edited label has no effect on the host.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_label_of_an_agent_is_put_right_and_its_spec_stays() {
    let world = World::start().await;
    let (own, _) = (world.infra_env().await, world.another_infra_env("other").await);
    let id = world.register(&own).await;
    eventually("the Agent", async || world.agent(id).await).await;
    world.edit(id, json!({"approved": true})).await;
    let labels =
        Patch::Merge(json!({"metadata": {"labels": {"infraenvs.agent-install.openshift.io": "other"}}}));
    let api = world.api::<Agent>();
    api.patch(&id.to_string(), &PatchParams::default(), &labels)
        .await
        .unwrap();
    let agent = eventually("the label", async || {
        let agent = world.agent(id).await?;
        (agent.labels().get("infraenvs.agent-install.openshift.io")? == "hw").then_some(agent)
    })
    .await;
    assert!(agent.spec.approved);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_off_on_its_way_into_a_cluster_can_be_taken_out_of_it() {
    let world = World::start_since(now() - Duration::from_secs(3600)).await;
    let infra_env = world.infra_env().await;
    let cluster = world.cluster("one").await;
    // The last poll was nearly as long ago as counts as silent.
    let id = world
        .host_as(&infra_env, |host| {
            host.state = HostState::Binding;
            host.cluster_id = Some(cluster.id);
            host.checked_in_at = now() - USUAL_SILENCE + Duration::from_secs(5);
            host.due_at = Some(host.checked_in_at + USUAL_SILENCE);
        })
        .await;
    assert_eq!(world.state(id).await.as_deref(), Some("binding"));
    world.edit(id, json!({"clusterDeploymentName": null})).await;
    let said = eventually("the Agent to say when it is free", async || {
        let conditions = world.agent(id).await?.status?.conditions;
        let synced = conditions.into_iter().find(|one| one.type_ == "SpecSynced")?;
        synced.message.filter(|said| said.contains("binding"))
    })
    .await;
    assert!(said.contains("counts as disconnected"), "{said}");
    eventually("the host to be free", async || {
        // The same as the job for deadlines does.
        let event = HostEvent::DeadlinePassed;
        let hosts = &world.backend.operations.hosts;
        hosts.apply(infra_env.id, id, event).await.unwrap();
        (world.state(id).await.as_deref() == Some("disconnected-unbound")).then_some(())
    })
    .await;
    assert_eq!(world.host(id).await.unwrap().cluster_id, None);
}
