//! HostedClusters and NodePools on a built-in Kubernetes API in this process. The infrastructure provider, hosts and kubelets are
//! simulated; the workload cluster is another API with Nodes, and simulated pods.

mod in_place;
mod in_place_ends;
mod pods;
mod world;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Namespace, Node, Secret};
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use muster_resources::cluster_api::{Cluster, Machine};
use muster_resources::hypershift::{HostedCluster, HostedControlPlane, NodePool};
use muster_resources::{AgentMachine, AgentMachineTemplate};
use serde_json::{Value, json};
use world::{MADE, USERS, World, condition};

use crate::backend::eventually;

const CLUSTER: &str = "vcluster2-x7k2p";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rendered_cluster_is_taken_as_it_is_and_says_what_is_missing() {
    let world = World::start().await;
    world.apply_rendered().await;
    let why = world
        .reason::<HostedCluster>("vcluster2", "Available", "KubeconfigMissing")
        .await;
    assert!(
        why.contains("clusters/vcluster2-admin-kubeconfig") && why.contains("key kubeconfig"),
        "{why}"
    );
    let why = world
        .reason::<HostedCluster>("vcluster2", "ValidConfiguration", "PullSecretMissing")
        .await;
    assert!(why.contains(".dockerconfigjson"), "{why}");
    world.scale("vcluster2", 1).await;
    let why = world
        .reason::<NodePool>("vcluster2", "Ready", "UserDataMissing")
        .await;
    assert!(
        why.contains("clusters/user-data-vcluster2") && why.contains("key value"),
        "{why}"
    );
    world.scale("vcluster2", 0).await;

    world.secrets().await;
    world
        .reason::<HostedCluster>("vcluster2", "Available", "AsExpected")
        .await;
    let cluster = world.api::<Cluster>(MADE).get(CLUSTER).await.unwrap();
    let reference = cluster.spec.infrastructure_ref.unwrap();
    assert_eq!(
        (reference.kind.as_str(), reference.name.as_str()),
        ("AgentCluster", "vcluster2")
    );
    let control_plane = world
        .api::<HostedControlPlane>(MADE)
        .get("vcluster2")
        .await
        .unwrap();
    assert_eq!(control_plane.spec.pull_secret.unwrap().name, "pull-secret");
    let secrets = world.api::<Secret>(MADE);
    for (name, key) in [
        ("admin-kubeconfig", "kubeconfig"),
        ("vcluster2-x7k2p-kubeconfig", "value"),
    ] {
        let secret = secrets.get(name).await.unwrap();
        assert_eq!(secret.data.unwrap()[key].0, world.kubeconfig.as_bytes(), "{name}");
    }
    let hosted = world.api::<HostedCluster>(USERS).get("vcluster2").await.unwrap();
    let status = hosted.status.unwrap();
    assert_eq!(status.control_plane_endpoint.unwrap().host, "127.0.0.1");
    assert_eq!(status.kubeconfig.unwrap().name, "vcluster2-admin-kubeconfig");
    assert_eq!(status.version.unwrap()["history"][0]["version"], "4.20.1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_is_scaled_up_and_down_and_all_goes_with_its_cluster() {
    let world = World::start().await;
    world.apply_rendered().await;
    world.secrets().await;
    world.scale("vcluster2", 2).await;
    world.ready("vcluster2", 2).await;
    let machines = world.machines().await;
    for machine in &machines {
        let status = machine.status.as_ref().unwrap();
        assert_eq!(status.phase.as_deref(), Some("Running"));
        assert_eq!(status.node_ref.as_ref().unwrap().name, machine.name_any());
        assert_eq!(
            machine.spec.provider_id,
            Some(format!("agent://{}", machine.name_any()))
        );
        assert_eq!(machine.labels()["cluster.x-k8s.io/cluster-name"], CLUSTER);
        let own = world
            .api::<AgentMachine>(MADE)
            .get(&machine.name_any())
            .await
            .unwrap();
        assert_eq!(own.owner_references()[0].uid, machine.uid().unwrap());
        let namespace = &own.annotations()["capi-provider.agent-install.openshift.io/agent-namespace"];
        assert_eq!(namespace, "hardware");
    }
    // The Machine that a user chose is deleted.
    let (kept, chosen) = (machines[0].name_any(), machines[1].name_any());
    let patch = json!({"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": "yes"}}});
    let api = world.api::<Machine>(MADE);
    api.patch(&chosen, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    world.scale("vcluster2", 1).await;
    world.ready("vcluster2", 1).await;
    assert_eq!(world.machines().await[0].name_any(), kept);
    let nodes = Api::<Node>::all(world.workload.clone());
    assert!(
        nodes.get_opt(&chosen).await.unwrap().is_none(),
        "its Node is deleted"
    );
    assert!(
        world
            .api::<AgentMachine>(MADE)
            .get_opt(&chosen)
            .await
            .unwrap()
            .is_none()
    );

    let hosted = world.api::<HostedCluster>(USERS);
    hosted
        .delete("vcluster2", &DeleteParams::default())
        .await
        .unwrap();
    eventually("everything to go", async || {
        let namespaces = Api::<Namespace>::all(world.client.clone());
        let is_left = hosted.get_opt("vcluster2").await.unwrap().is_some()
            || namespaces.get_opt(MADE).await.unwrap().is_some()
            || world
                .api::<NodePool>(USERS)
                .get_opt("vcluster2")
                .await
                .unwrap()
                .is_some();
        (!is_left).then_some(())
    })
    .await;
}

/// Another machine has joined under the name of a Machine's Node since the last check.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_of_another_machine_stays_when_a_machine_goes_whose_node_had_its_name() {
    let world = World::start().await;
    world.apply_rendered().await;
    world.secrets().await;
    world.scale("vcluster2", 1).await;
    world.ready("vcluster2", 1).await;
    let name = world.machines().await[0].name_any();
    let nodes = Api::<Node>::all(world.workload.clone());
    nodes.delete(&name, &DeleteParams::default()).await.unwrap();
    let other: Node = serde_json::from_value(json!({
        "metadata": {"name": name}, "spec": {"providerID": "agent://another"},
    }))
    .unwrap();
    nodes.create(&PostParams::default(), &other).await.unwrap();
    world.scale("vcluster2", 0).await;
    eventually("the Machine to go", async || {
        world.machines().await.is_empty().then_some(())
    })
    .await;
    let kept = nodes.get(&name).await.unwrap();
    assert_eq!(kept.metadata.deletion_timestamp, None);
    assert_ne!(kept.spec.unwrap().unschedulable, Some(true), "it is not drained");
}

/// A kubelet may set any provider id when it makes its Node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_of_another_name_that_claims_a_machines_provider_id_is_told_and_gets_nothing() {
    let world = World::start().await;
    world.apply_rendered().await;
    world.secrets().await;
    edit(&world, json!({"nodeLabels": {"example.test/tier": "gold"}})).await;
    world.scale("vcluster2", 1).await;
    world.ready("vcluster2", 1).await;
    let machine = world.machines().await.remove(0);
    let name = machine.name_any();
    let nodes = Api::<Node>::all(world.workload.clone());
    let claims: Node = serde_json::from_value(json!({
        "metadata": {"name": "claims"}, "spec": {"providerID": format!("agent://{name}")},
    }))
    .unwrap();
    nodes.create(&PostParams::default(), &claims).await.unwrap();
    nodes.delete(&name, &DeleteParams::default()).await.unwrap();
    // All Nodes are looked at once a Machine has been without its own for long.
    let mut conditions = json!(machine.status)["conditions"].take();
    for condition in conditions.as_array_mut().unwrap() {
        condition["lastTransitionTime"] = json!("2026-01-01T00:00:00Z");
    }
    let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
    let machines = world.api::<Machine>(MADE);
    machines
        .patch_status(&name, &PatchParams::default(), &patch)
        .await
        .unwrap();
    eventually("the Node that claims to be named", async || {
        let machine = machines.get(&name).await.unwrap();
        let found = condition(&json!(machine)["status"], "NodeHealthy")?;
        let told = found["message"].as_str()?;
        (found["status"] == "False" && told.contains("claims") && told.contains("spec.hostname"))
            .then_some(())
    })
    .await;
    assert_eq!(nodes.get("claims").await.unwrap().metadata.labels, None);
}

/// Namespace and name of two HostedClusters can lead to one namespace.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_of_another_hosted_cluster_is_neither_used_nor_deleted() {
    let world = World::start().await;
    let namespaces = Api::<Namespace>::all(world.client.clone());
    let taken: Namespace = serde_json::from_value(json!({
        "metadata": {"name": MADE, "annotations": {"hypershift.openshift.io/cluster": "another/one"}},
    }))
    .unwrap();
    namespaces.create(&PostParams::default(), &taken).await.unwrap();
    world.apply_rendered().await;
    world.secrets().await;
    let why = world
        .reason::<HostedCluster>("vcluster2", "ValidConfiguration", "NamespaceTaken")
        .await;
    assert!(why.contains(MADE), "{why}");
    let hosted = world.api::<HostedCluster>(USERS);
    hosted
        .delete("vcluster2", &DeleteParams::default())
        .await
        .unwrap();
    eventually("the HostedCluster to go", async || {
        hosted.get_opt("vcluster2").await.unwrap().is_none().then_some(())
    })
    .await;
    assert_eq!(
        world
            .api::<Secret>(MADE)
            .list(&ListParams::default())
            .await
            .unwrap()
            .items,
        []
    );
    let kept = namespaces.get(MADE).await.unwrap();
    assert_eq!(kept.metadata.deletion_timestamp, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_bootstrap_data_roll_a_pool_within_its_limits() {
    let world = World::start().await;
    world.apply_rendered().await;
    world.secrets().await;
    let pools = world.api::<NodePool>(USERS);
    for (name, surge, unavailable) in [("surging", 1, 0), ("spare", 0, 1)] {
        let pool = json!({
            "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": {"name": name},
            "spec": {
                "clusterName": "vcluster2", "replicas": 2, "platform": {"type": "Agent"},
                "release": {"image": "quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64"},
                "management": {"upgradeType": "Replace", "replace": {"strategy": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}},
            },
        });
        let pool: NodePool = serde_json::from_value(pool).unwrap();
        world.user_data(name, "one").await;
        pools.create(&PostParams::default(), &pool).await.unwrap();
        world.ready(name, 2).await;
        let before: Vec<String> = of(&world, name).await.iter().map(ResourceExt::name_any).collect();
        world.user_data(name, "two").await;
        let most = eventually(&format!("{name} to be rolled"), async || {
            let machines = of(&world, name).await;
            let alive = machines
                .iter()
                .filter(|machine| machine.metadata.deletion_timestamp.is_none());
            assert!(alive.count() <= 2 + surge, "{name}: {machines:?}");
            let is_new = machines
                .iter()
                .all(|machine| !before.contains(&machine.name_any()));
            (is_new && machines.len() == 2).then_some(machines.len())
        })
        .await;
        assert_eq!(most, 2);
        world.ready(name, 2).await;
        let secrets: std::collections::BTreeSet<_> = of(&world, name)
            .await
            .into_iter()
            .map(|machine| machine.spec.bootstrap.data_secret_name)
            .collect();
        assert_eq!(secrets.len(), 1, "{secrets:?}");
    }
    let templates = world
        .api::<AgentMachineTemplate>(MADE)
        .list(&ListParams::default())
        .await
        .unwrap();
    assert_eq!(templates.items.len(), 3, "one a pool");
}

async fn of(world: &World, pool: &str) -> Vec<Machine> {
    let mut machines = world.machines().await;
    machines.retain(|machine| machine.labels()["cluster.x-k8s.io/deployment-name"] == pool);
    machines
}

async fn edit(world: &World, spec: Value) {
    let patch = Patch::Merge(json!({ "spec": spec }));
    let pools = world.api::<NodePool>(USERS);
    pools
        .patch("vcluster2", &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// Waits until labels, without the kubelet's, and taints are these.
async fn node_becomes(world: &World, name: &str, labels: &Value, taints: &Value) {
    let nodes = Api::<Node>::all(world.workload.clone());
    eventually(
        &format!("the Node {name} with {labels} and {taints}"),
        async || {
            let node = nodes.get(name).await.unwrap();
            let labels_are: BTreeMap<_, _> = node.labels().clone();
            let taints_are = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
            (json!(labels_are) == *labels && json!(taints_are) == *taints).then_some(())
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn labels_and_taints_of_a_pool_are_on_its_nodes_and_follow_it_without_a_rollout() {
    let world = World::start().await;
    world.apply_rendered().await;
    world.secrets().await;
    let first = json!({"key": "gpu", "value": "yes", "effect": "NoSchedule"});
    edit(
        &world,
        json!({"nodeLabels": {"example.test/tier": "gold", "rack": "1"}, "taints": [first]}),
    )
    .await;
    world.scale("vcluster2", 1).await;
    world.ready("vcluster2", 1).await;
    let machine = world.machines().await[0].name_any();
    let pool = "hypershift.openshift.io/nodePool";
    let labels = json!({"example.test/tier": "gold", "rack": "1", pool: "vcluster2"});
    node_becomes(&world, &machine, &labels, &json!([first])).await;

    // Settings of other controllers stay.
    let nodes = Api::<Node>::all(world.workload.clone());
    let other = json!({"key": "maintenance", "effect": "PreferNoSchedule"});
    let patch = json!({"metadata": {"labels": {"mine": "x"}}, "spec": {"taints": [first, other]}});
    nodes
        .patch(&machine, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    let second = json!({"key": "fpga", "effect": "NoExecute"});
    let labels = json!({"nodeLabels": {"example.test/tier": null, "rack": "2"}, "taints": [second]});
    edit(&world, labels).await;
    let labels = json!({"rack": "2", "mine": "x", pool: "vcluster2"});
    node_becomes(&world, &machine, &labels, &json!([other, second])).await;
    edit(&world, json!({"nodeLabels": {"rack": null}, "taints": []})).await;
    node_becomes(
        &world,
        &machine,
        &json!({"mine": "x", pool: "vcluster2"}),
        &json!([other]),
    )
    .await;
    assert_eq!(world.machines().await[0].name_any(), machine, "no rollout");
}

/// One pod of each sort on a node: of a DaemonSet, of a file, plain, and with a PodDisruptionBudget.
fn four_pods(world: &World, node: &str) {
    let owner = json!([{
        "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": true,
    }]);
    world
        .pods
        .put("daemon", node, json!({ "ownerReferences": owner }));
    world.pods.put(
        "mirror",
        node,
        json!({"annotations": {"kubernetes.io/config.mirror": "x"}}),
    );
    world.pods.put("plain", node, json!({}));
    world.pods.put("guarded", node, json!({}));
    world.pods.put("elsewhere", "another-node", json!({}));
    world.pods.guard("guarded");
}

/// Waits until the message of the Machine's deletion contains this text.
async fn draining(world: &World, machine: &str, text: &str) -> String {
    let machines = world.api::<Machine>(MADE);
    eventually(&format!("{machine} to wait: {text}"), async || {
        let found = machines.get(machine).await.unwrap();
        let deleting = condition(&json!(found.status), "Deleting")?;
        let said = deleting["message"].as_str().unwrap_or_default().to_owned();
        said.contains(text).then_some(said)
    })
    .await
}

async fn goes(world: &World, machine: &str) {
    let machines = world.api::<Machine>(MADE);
    eventually(&format!("{machine} to go"), async || {
        machines.get_opt(machine).await.unwrap().is_none().then_some(())
    })
    .await;
    world.ready("vcluster2", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_drained_of_what_must_leave_and_waits_for_what_may_not_until_its_time_is_over() {
    let world = World::start().await;
    world.apply_rendered().await;
    world.secrets().await;
    world.scale("vcluster2", 1).await;
    world.ready("vcluster2", 1).await;
    let machine = world.machines().await[0].name_any();
    four_pods(&world, &machine);
    world.scale("vcluster2", 0).await;
    let kept = "default/guarded is kept by a PodDisruptionBudget";
    let said = draining(&world, &machine, &format!("waits for pods to leave: {kept}")).await;
    assert!(
        said.contains("without a limit: spec.deletion.nodeDrainTimeoutSeconds"),
        "{said}"
    );
    let nodes = Api::<Node>::all(world.workload.clone());
    let node = nodes.get(&machine).await.unwrap().spec.unwrap();
    assert_eq!(node.unschedulable, Some(true));
    assert_eq!(world.pods.take_evicted(), ["plain"]);
    world.pods.unguard();
    goes(&world, &machine).await;
    assert_eq!(world.pods.take_evicted(), ["guarded"]);
    assert_eq!(world.pods.present(), ["daemon", "elsewhere", "mirror"]);

    edit(&world, json!({"nodeDrainTimeout": "1h"})).await;
    world.scale("vcluster2", 1).await;
    world.ready("vcluster2", 1).await;
    let machine = world.machines().await[0].name_any();
    four_pods(&world, &machine);
    world.scale("vcluster2", 0).await;
    let said = draining(&world, &machine, kept).await;
    assert!(said.contains(", until 20"), "{said}");
    edit(&world, json!({"nodeDrainTimeout": "1s"})).await;
    goes(&world, &machine).await;
    assert_eq!(world.pods.take_evicted(), ["plain"]);
    assert!(world.pods.present().contains(&"guarded".to_owned()));
    let events = world.api::<Event>(MADE);
    eventually("the Event of the drain", async || {
        let list = events.list(&ListParams::default()).await.unwrap();
        let found = list
            .into_iter()
            .find(|event| event.reason.as_deref() == Some("DrainTimedOut"))?;
        found.note?.contains(kept).then_some(())
    })
    .await;
}
