//! One provider for one namespace of Machines, and one among others.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use muster_resources::AgentMachine;
use muster_resources::names::PROVIDER_LEASE;
use serde_json::json;

use super::world::{World, pointer};
use crate::backend::eventually;

#[tokio::test]
async fn a_provider_for_one_namespace_takes_the_agents_of_the_other_and_reads_no_infra_env() {
    let world = World::start_alone().await;
    // Not given to the namespace: the rights on Agents are the permission.
    world.infra_env(None).await;
    world.hosted_cluster("one").await;
    world.control_plane("one").await;
    world.endpoint("one").await;
    world.bootstrap("data", &pointer()).await;
    world.agent("a", &json!({})).await;
    world.machine("m", "data", &json!({})).await;
    let taken = world.await_taken("m").await;
    assert_eq!(taken.spec.provider_id.as_deref(), Some("agent://a"));
    world.installed("a").await;
    world.await_ready("m").await;
}

#[tokio::test]
async fn a_namespace_is_left_alone_while_another_provider_holds_its_lease() {
    let world = World::start_among_others().await;
    world
        .create::<Lease>(json!({
            "metadata": {"name": PROVIDER_LEASE},
            "spec": {"holderIdentity": "pod-1", "leaseDurationSeconds": 3600},
        }))
        .await;
    world.cluster("one").await;
    world.bootstrap("data", &pointer()).await;
    world.agent("a", &json!({})).await;
    world.machine("m", "data", &json!({})).await;
    let why = eventually("an Event about the other provider", async || {
        let events = world.api::<Event>().list(&ListParams::default()).await.unwrap();
        let mut events = events.items.into_iter();
        let event = events.find(|event| event.reason.as_deref() == Some("OtherProvider"))?;
        event.message
    })
    .await;
    assert!(
        why.contains("pod-1 holds the Lease clusters-one/7605f49b"),
        "{why}"
    );
    let machine: AgentMachine = world.get("m").await;
    assert_eq!((machine.metadata.finalizers, machine.status), (None, None));

    world.delete::<Lease>(PROVIDER_LEASE).await;
    world.await_taken("m").await;
    let lease: Lease = world.get(PROVIDER_LEASE).await;
    let holder = lease.spec.and_then(|spec| spec.holder_identity);
    assert_eq!(holder.as_deref(), Some("muster-serve_muster"));
}
