//! Ends of the steps of an upgrade in place that are not the next step, and waits that hold one.

use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use muster_resources::AgentMachine;
use muster_resources::cluster_api::Machine;
use muster_resources::hypershift::NodePool;
use serde_json::{Value, json};

use super::in_place::{UPGRADE, again, identities, started, updating};
use super::world::{MADE, REINSTALL, World, condition};
use super::{edit, of};
use crate::backend::eventually;

/// A pool with one node; returns its Machine.
async fn with_one_node() -> (World, Machine) {
    let world = started().await;
    world.scale("vcluster2", 1).await;
    world.ready("vcluster2", 1).await;
    let machine = of(&world, "vcluster2").await.remove(0);
    (world, machine)
}

async fn node(world: &World, name: &str) -> Node {
    Api::<Node>::all(world.workload.clone()).get(name).await.unwrap()
}

/// Waits until the Machine names other data than before, and its upgrade is over.
async fn upgraded(world: &World, before: &Machine) {
    let name = before.name_any();
    let machines = world.api::<Machine>(MADE);
    eventually(&format!("{name} to be upgraded"), async || {
        let machine = machines.get(&name).await.unwrap();
        let is_over = !machine.annotations().contains_key(UPGRADE);
        let is_new = machine.spec.bootstrap.data_secret_name != before.spec.bootstrap.data_secret_name;
        (is_over && is_new).then_some(())
    })
    .await;
}

/// Nothing was requested of the provider yet.
async fn assert_left_alone(world: &World, name: &str) {
    let own = world.api::<AgentMachine>(MADE).get(name).await.unwrap();
    assert_eq!(own.status.unwrap().reinstall, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_host_leaves_while_the_pods_of_its_node_cannot_be_listed() {
    let (world, machine) = with_one_node().await;
    let name = machine.name_any();
    world.pods.fail(true);
    world.user_data("vcluster2", "two").await;
    updating(&world, &name, "waits for the workload cluster, to drain the node").await;
    assert_left_alone(&world, &name).await;
    world.pods.fail(false);
    upgraded(&world, &machine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_ends_with_its_timeout_whatever_a_budget_keeps() {
    let (world, machine) = with_one_node().await;
    let name = machine.name_any();
    world.pods.put("guarded", &name, json!({}));
    world.pods.guard("guarded");
    world.user_data("vcluster2", "two").await;
    updating(&world, &name, "without a limit: nodeDrainTimeout").await;
    assert_left_alone(&world, &name).await;
    edit(&world, json!({"nodeDrainTimeout": "1s"})).await;
    upgraded(&world, &machine).await;
    assert_eq!(world.pods.present(), ["guarded"], "it was not evicted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_of_a_former_system_stays_until_its_kubelet_is_silent() {
    let (world, machine) = with_one_node().await;
    let name = machine.name_any();
    let former = node(&world, &name).await.uid();
    again(&world, &name, json!("reports")).await;
    world.user_data("vcluster2", "two").await;
    updating(&world, &name, "goes when its kubelet counts as silent").await;
    assert_eq!(node(&world, &name).await.uid(), former);
    silence(&world, &name).await;
    upgraded(&world, &machine).await;
    assert_ne!(node(&world, &name).await.uid(), former);
}

/// Its kubelet counts as silent.
async fn silence(world: &World, name: &str) {
    let silent =
        json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown", "message": "silent"}]}});
    Api::<Node>::all(world.workload.clone())
        .patch_status(name, &PatchParams::default(), &Patch::Merge(silent))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_somebody_made_in_the_name_of_the_former_one_is_not_deleted() {
    let (world, machine) = with_one_node().await;
    let name = machine.name_any();
    again(&world, &name, json!("reports")).await;
    world.user_data("vcluster2", "two").await;
    updating(&world, &name, "goes when its kubelet counts as silent").await;
    again(&world, &name, json!("installs")).await;
    let nodes = Api::<Node>::all(world.workload.clone());
    nodes.delete(&name, &DeleteParams::default()).await.unwrap();
    let by_hand = json!({"metadata": {"name": name}, "spec": {"providerID": machine.spec.provider_id}});
    let by_hand: Node = serde_json::from_value(by_hand).unwrap();
    let made = nodes.create(&PostParams::default(), &by_hand).await.unwrap();
    let machines = world.api::<Machine>(MADE);
    eventually("no former Node to be waited for", async || {
        let found = machines.get(&name).await.unwrap();
        let shown = condition(&json!(found.status), "Updating")?;
        let message = shown["message"].as_str()?;
        (message.contains("is installed again") && !message.contains("former system")).then_some(())
    })
    .await;
    silence(&world, &name).await;
    again(&world, &name, json!("joined")).await;
    upgraded(&world, &machine).await;
    assert_eq!(node(&world, &name).await.uid(), made.uid());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_goes_on_after_a_restart_at_each_step_and_nothing_is_done_twice() {
    let (mut world, machine) = with_one_node().await;
    let name = machine.name_any();
    let former = node(&world, &name).await.uid();
    world.pods.put("guarded", &name, json!({}));
    world.pods.guard("guarded");
    again(&world, &name, json!("ignored")).await;
    world.user_data("vcluster2", "two").await;

    updating(&world, &name, "is kept by a PodDisruptionBudget").await;
    world.restart().await;
    assert_left_alone(&world, &name).await;
    world.pods.unguard();

    updating(&world, &name, "only Muster's own does so").await;
    assert_eq!(world.pods.take_evicted(), ["guarded"]);
    let requested = request(&world, &name).await;
    let annotated = world.api::<Machine>(MADE).get(&name).await.unwrap();
    let recorded: Value = serde_json::from_str(&annotated.annotations()[UPGRADE]).unwrap();
    assert_eq!(recorded["nodeUid"].as_str(), former.as_deref());
    world.restart().await;
    again(&world, &name, json!("reports")).await;

    updating(&world, &name, "goes when its kubelet counts as silent").await;
    world.restart().await;
    assert_eq!(node(&world, &name).await.uid(), former);
    again(&world, &name, json!("installs")).await;
    silence(&world, &name).await;

    let nodes = Api::<Node>::all(world.workload.clone());
    eventually("the former Node to go", async || {
        nodes.get_opt(&name).await.unwrap().is_none().then_some(())
    })
    .await;
    world.restart().await;
    again(&world, &name, Value::Null).await;

    upgraded(&world, &machine).await;
    world.restart().await;
    world.ready("vcluster2", 1).await;
    let next = node(&world, &name).await;
    assert_ne!(next.uid(), former);
    assert_ne!(next.spec.unwrap().unschedulable, Some(true));
    assert_eq!(request(&world, &name).await, requested, "one request alone");
    assert!(world.pods.take_evicted().is_empty());
    assert_eq!(
        identities(&of(&world, "vcluster2").await),
        identities(std::slice::from_ref(&machine))
    );
}

/// The request that the host of a Machine is installed again.
async fn request(world: &World, name: &str) -> Option<String> {
    let own = world.api::<AgentMachine>(MADE).get(name).await.unwrap();
    own.annotations().get(REINSTALL).cloned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_ignores_the_request_is_waited_for() {
    let (world, machine) = with_one_node().await;
    let name = machine.name_any();
    let former = node(&world, &name).await.uid();
    again(&world, &name, json!("ignored")).await;
    world.user_data("vcluster2", "two").await;
    updating(&world, &name, "only Muster's own does so").await;
    assert_eq!(node(&world, &name).await.uid(), former);
    again(&world, &name, Value::Null).await;
    upgraded(&world, &machine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_host_cannot_be_installed_again_takes_pods_again() {
    let (world, machine) = with_one_node().await;
    let name = machine.name_any();
    let former = node(&world, &name).await.uid();
    again(&world, &name, json!("refused")).await;
    world.user_data("vcluster2", "two").await;
    let why = world
        .reason::<NodePool>("vcluster2", "UpdatingConfig", "InplaceUpgradeFailed")
        .await;
    assert!(why.contains("its host cannot be installed again"), "{why}");
    let kept = node(&world, &name).await;
    assert_eq!(kept.uid(), former);
    assert_ne!(kept.spec.unwrap().unschedulable, Some(true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_whose_upgrade_failed_is_replaced_when_it_is_deleted_and_the_others_follow() {
    let world = started().await;
    world.scale("vcluster2", 2).await;
    world.ready("vcluster2", 2).await;
    let before = of(&world, "vcluster2").await;
    for machine in &before {
        again(&world, &machine.name_any(), json!("failed")).await;
    }
    world.user_data("vcluster2", "two").await;
    world
        .reason::<NodePool>("vcluster2", "UpdatingConfig", "InplaceUpgradeFailed")
        .await;
    let now = of(&world, "vcluster2").await;
    let is_busy = |machine: &&Machine| machine.annotations().contains_key(UPGRADE);
    let failed = now.iter().find(is_busy).unwrap().name_any();
    let other = before
        .iter()
        .find(|machine| machine.name_any() != failed)
        .unwrap();
    again(&world, &other.name_any(), Value::Null).await;
    world
        .api::<Machine>(MADE)
        .delete(&failed, &DeleteParams::default())
        .await
        .unwrap();
    upgraded(&world, other).await;
    world.ready("vcluster2", 2).await;
    let after = identities(&of(&world, "vcluster2").await);
    assert!(identities(std::slice::from_ref(other)).is_subset(&after));
    assert!(after.iter().all(|(name, ..)| *name != failed));
}
