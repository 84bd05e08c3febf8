//! Nodes that are upgraded in place, pools that are kept within limits, and unhealthy nodes.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use muster_resources::AgentMachine;
use muster_resources::cluster_api::Machine;
use muster_resources::hypershift::NodePool;
use serde_json::{Value, json};

use super::world::{AGAIN, MADE, World, condition};
use super::{edit, of};
use crate::backend::eventually;

pub const UPGRADE: &str = "upgrade.muster/in-place";

/// Name, host and Node of each Machine.
pub fn identities(machines: &[Machine]) -> BTreeSet<(String, Option<String>, Option<String>)> {
    let node = |machine: &Machine| Some(machine.status.clone()?.node_ref?.name);
    machines
        .iter()
        .map(|machine| {
            (
                machine.name_any(),
                machine.spec.provider_id.clone(),
                node(machine),
            )
        })
        .collect()
}

/// Waits until the condition `Updating` of the Machine contains the text.
pub async fn updating(world: &World, name: &str, text: &str) {
    let machines = world.api::<Machine>(MADE);
    eventually(&format!("{name} to wait: {text}"), async || {
        let found = machines.get(name).await.unwrap();
        let shown = condition(&json!(found.status), "Updating")?;
        shown["message"].as_str()?.contains(text).then_some(())
    })
    .await;
}

pub async fn started() -> World {
    let world = World::start().await;
    world.apply_rendered().await;
    world.secrets().await;
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_are_upgraded_in_place_one_after_the_other_and_stay_the_same() {
    let world = started().await;
    world.scale("vcluster2", 2).await;
    world.ready("vcluster2", 2).await;
    let before = of(&world, "vcluster2").await;
    let mut names: Vec<String> = before.iter().map(ResourceExt::name_any).collect();
    names.sort_by_key(|name| {
        let machine = before.iter().find(|machine| machine.name_any() == *name).unwrap();
        (machine.creation_timestamp().map(|time| time.0), name.clone())
    });
    let nodes = Api::<Node>::all(world.workload.clone());
    let old_node = nodes.get(&names[0]).await.unwrap().uid();
    world.pods.put("guarded", &names[0], json!({}));
    world.pods.guard("guarded");
    world.user_data("vcluster2", "two").await;

    // The first is drained, and its budget is kept.
    updating(
        &world,
        &names[0],
        "default/guarded is kept by a PodDisruptionBudget",
    )
    .await;
    let node = nodes.get(&names[0]).await.unwrap();
    assert_eq!(node.spec.unwrap().unschedulable, Some(true));
    let why = world
        .reason::<NodePool>("vcluster2", "UpdatingConfig", "RollingOut")
        .await;
    assert!(why.contains(&names[0]), "{why}");
    let own = world.api::<AgentMachine>(MADE).get(&names[0]).await.unwrap();
    assert_eq!(
        own.status.unwrap().reinstall,
        None,
        "its host is left alone until then"
    );
    let machines = world.api::<Machine>(MADE);
    let second = machines.get(&names[1]).await.unwrap();
    assert!(!second.annotations().contains_key(UPGRADE));
    world.pods.unguard();

    let after = eventually("both to be upgraded", async || {
        let machines = of(&world, "vcluster2").await;
        let busy = machines
            .iter()
            .filter(|machine| machine.annotations().contains_key(UPGRADE));
        assert!(busy.count() <= 1, "one at a time");
        let data: BTreeSet<_> = machines
            .iter()
            .map(|machine| machine.spec.bootstrap.data_secret_name.clone())
            .collect();
        let is_new = data.len() == 1 && data.first() != Some(&before[0].spec.bootstrap.data_secret_name);
        let is_idle = machines
            .iter()
            .all(|machine| !machine.annotations().contains_key(UPGRADE));
        (is_new && is_idle).then_some(machines)
    })
    .await;
    world.ready("vcluster2", 2).await;
    assert_eq!(identities(&after), identities(&before));
    world
        .reason::<NodePool>("vcluster2", "UpdatingConfig", "AsExpected")
        .await;
    assert_ne!(
        nodes.get(&names[0]).await.unwrap().uid(),
        old_node,
        "the Node is a new one"
    );
    for name in &names {
        let node = nodes.get(name).await.unwrap();
        assert_ne!(node.spec.unwrap().unschedulable, Some(true), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_that_fails_stops_the_others_until_the_pool_is_changed_again() {
    let world = started().await;
    world.scale("vcluster2", 2).await;
    world.ready("vcluster2", 2).await;
    let all = of(&world, "vcluster2").await;
    for machine in &all {
        again(&world, &machine.name_any(), json!("failed")).await;
    }
    world.user_data("vcluster2", "two").await;
    let why = world
        .reason::<NodePool>("vcluster2", "UpdatingConfig", "InplaceUpgradeFailed")
        .await;
    assert!(
        why.contains("no further one") && why.contains("it fails"),
        "{why}"
    );
    let busy = async || {
        let machines = of(&world, "vcluster2").await;
        let busy = machines
            .iter()
            .filter(|machine| machine.annotations().contains_key(UPGRADE));
        busy.count()
    };
    assert_eq!(busy().await, 1);
    for machine in &all {
        again(&world, &machine.name_any(), Value::Null).await;
    }
    world.user_data("vcluster2", "three").await;
    eventually("the pool to be as it wants", async || {
        (busy().await == 0).then_some(())
    })
    .await;
    world
        .reason::<NodePool>("vcluster2", "UpdatingConfig", "AsExpected")
        .await;
    world.ready("vcluster2", 2).await;
    assert_eq!(identities(&of(&world, "vcluster2").await), identities(&all));
}

/// Sets what happens when the host of the Machine is to be installed again; null: it is.
pub async fn again(world: &World, machine: &str, value: Value) {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {AGAIN: value}}}));
    let machines = world.api::<AgentMachine>(MADE);
    machines
        .patch(machine, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_selector_installs_no_node_again() {
    let world = started().await;
    world.scale("vcluster2", 1).await;
    world.ready("vcluster2", 1).await;
    let before = of(&world, "vcluster2").await;
    let selector = json!({"agent": {"agentLabelSelector": {"matchLabels": {"rack": "2"}}}});
    edit(&world, json!({ "platform": selector })).await;
    world.scale("vcluster2", 2).await;
    world.ready("vcluster2", 2).await;
    let after = of(&world, "vcluster2").await;
    assert!(identities(&before).is_subset(&identities(&after)));
    assert!(
        after
            .iter()
            .all(|machine| !machine.annotations().contains_key(UPGRADE))
    );
    let first = world
        .api::<AgentMachine>(MADE)
        .get(&before[0].name_any())
        .await
        .unwrap();
    assert_eq!(first.status.unwrap().reinstall, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_that_scales_itself_stays_within_its_limits_and_mistakes_are_named() {
    let world = started().await;
    edit(
        &world,
        json!({"replicas": null, "autoScaling": {"min": 2, "max": 3}}),
    )
    .await;
    world.ready("vcluster2", 2).await;
    let why = world
        .reason::<NodePool>("vcluster2", "AutoscalingEnabled", "AsExpected")
        .await;
    assert!(why.contains("Maximum nodes: 3, Minimum nodes: 2"), "{why}");
    edit(&world, json!({"autoScaling": {"min": 1, "max": 1}})).await;
    world.ready("vcluster2", 1).await;
    let patch = Patch::Merge(json!({"spec": {"autoScaling": {"min": 2, "max": 1}}}));
    let pools = world.api::<NodePool>(super::world::USERS);
    let refused = pools
        .patch("vcluster2", &PatchParams::default(), &patch)
        .await
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("max must be equal or greater than min"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unhealthy_node_is_replaced_and_its_machine_has_the_reason() {
    let world = started().await;
    let annotations = json!({"hypershift.openshift.io/machine-health-check-timeout": "1s"});
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let pools = world.api::<NodePool>(super::world::USERS);
    pools
        .patch("vcluster2", &PatchParams::default(), &patch)
        .await
        .unwrap();
    world.scale("vcluster2", 2).await;
    world.ready("vcluster2", 2).await;
    let ill = of(&world, "vcluster2").await[0].name_any();
    let nodes = Api::<Node>::all(world.workload.clone());
    let status =
        json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown", "message": "silent"}]}});
    nodes
        .patch_status(&ill, &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
    // Nothing is done while it is not wanted.
    let machines = world.api::<Machine>(MADE);
    assert_eq!(
        machines.get(&ill).await.unwrap().metadata.deletion_timestamp,
        None
    );
    edit(&world, json!({"management": {"autoRepair": true}})).await;
    // The verdict stays with the Machine until it is gone; the provider notes it at the host.
    world.hold(&ill).await;
    eventually("the Machine to be replaced", async || {
        let machine = machines.get_opt(&ill).await.unwrap()?;
        let verdict = condition(&json!(machine.status), "HealthCheckSucceeded")?;
        let is_going = machine.metadata.deletion_timestamp.is_some();
        (verdict["status"] == "False" && verdict["reason"] == "UnhealthyNode" && is_going).then_some(())
    })
    .await;
    world.release(&ill).await;
    world.ready("vcluster2", 2).await;
    assert!(machines.get_opt(&ill).await.unwrap().is_none());
    world
        .reason::<NodePool>("vcluster2", "AutorepairEnabled", "AsExpected")
        .await;
}
