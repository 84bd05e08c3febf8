//! Machines of control planes, and of clusters whose control plane is on Agents.

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use muster_resources::{AgentCluster, AgentMachine, AgentMachineStatus};
use serde_json::json;

use super::HOOK;
use super::world::{self, World, condition};
use crate::backend::eventually;

/// The hook of KubeadmControlPlane, which it removes when the member of etcd is removed.
const KCP_HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup";

/// A Machine of a control plane whose AgentMachine has taken the Agent `a`.
async fn control_plane_with_agent() -> World {
    let world = World::start().await;
    world.cluster("one").await;
    world.agent("a", &json!({})).await;
    world.bootstrap("user-data", &world::pointer()).await;
    let of = json!({"controlPlane": true});
    world.machine("m", "user-data", &of).await;
    world.await_taken("m").await;
    world
}

async fn add_hook(world: &World, hook: &str) {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {hook: ""}}}));
    let machines = world.machines();
    machines
        .patch("m", &PatchParams::default(), &patch)
        .await
        .unwrap();
}

async fn await_given_back(world: &World) {
    eventually("the Agent to be given back", async || {
        let agent = world.get_agent("a").await;
        agent.spec.cluster_deployment_name.is_none().then_some(())
    })
    .await;
}

async fn await_gone(world: &World) {
    eventually("the AgentMachine to go", async || {
        world.find::<AgentMachine>("m").await.is_none().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_of_a_control_plane_stays_until_its_provider_has_let_it_go() {
    let world = control_plane_with_agent().await;
    let agent = world.get_agent("a").await;
    assert_eq!(agent.spec.role, "master");
    assert!(!world.get_machine("m").await.annotations().contains_key(HOOK));
    // An earlier release set one.
    add_hook(&world, HOOK).await;
    eventually("the hook to be removed", async || {
        (!world.get_machine("m").await.annotations().contains_key(HOOK)).then_some(())
    })
    .await;

    add_hook(&world, KCP_HOOK).await;
    world.delete_machine("m").await;
    world.awaits_hook("m").await;
    // A user deletes the AgentMachine, too: the member of etcd is still there.
    world.delete::<AgentMachine>("m").await;
    eventually("the AgentMachine to name the hook", async || {
        let machine: AgentMachine = world.get("m").await;
        let conditions = machine.status?.conditions;
        let deleting = conditions.into_iter().find(|one| one.type_ == "Deleting")?;
        (deleting.reason == "WaitingForMachine" && deleting.message.contains(KCP_HOOK)).then_some(())
    })
    .await;
    assert_eq!(world.get_agent("a").await.labels()["agentMachineRef"], "m");

    world.remove_hook("m", KCP_HOOK).await;
    await_given_back(&world).await;
    let agent = world.get_agent("a").await;
    assert_eq!(agent.spec.role, "auto-assign");
    world.left("a", "known-unbound").await;
    await_gone(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_of_a_cluster_that_is_gone_gives_its_agent_back() {
    let world = control_plane_with_agent().await;
    world.delete_cluster("one").await;
    world.delete::<AgentMachine>("m").await;
    eventually("the AgentMachine to wait", async || {
        let machine: AgentMachine = world.get("m").await;
        let status = machine.status?;
        (condition(&status.conditions, "Deleting") == ("True", "WaitingForMachine")).then_some(())
    })
    .await;
    assert_eq!(world.get_agent("a").await.labels()["agentMachineRef"], "m");
    world.delete_machine("m").await;
    await_given_back(&world).await;
    world.left("a", "known-unbound").await;
    await_gone(&world).await;
}

/// The Agent that was taken, and a status of the AgentMachine that shows its host as started from its disk.
async fn after_reboot(world: &World, machine: &str) -> (String, AgentMachineStatus) {
    let taken = world.await_taken(machine).await;
    let agent = taken.status.unwrap().agent_ref.unwrap().name;
    world.rebooted(&agent).await;
    // A change that is seen after the reboot.
    world
        .label_agent(&agent, "topology.kubernetes.io/zone", machine)
        .await;
    let status = eventually("the AgentMachine to show it", async || {
        let found: AgentMachine = world.get(machine).await;
        let is_shown =
            |status: &AgentMachineStatus| status.ready || status.failure_domain.as_deref() == Some(machine);
        found.status.filter(is_shown)
    })
    .await;
    (agent, status)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_was_started_from_its_disk_is_provisioned_where_no_ready_node_is_wanted() {
    let world = World::start().await;
    world.cluster("one").await;
    world.hosted_cluster("hc").await;
    world.control_plane("hc").await;
    world.endpoint("hc").await;
    for name in ["a", "b", "c"] {
        world.agent(name, &json!({})).await;
    }
    world.bootstrap("user-data", &world::pointer()).await;

    world.machine("m", "user-data", &json!({})).await;
    let (_, status) = after_reboot(&world, "m").await;
    assert!(status.ready && status.initialization.unwrap().provisioned == Some(true));
    assert_eq!(
        condition(&status.conditions, "Installed"),
        ("True", "HostStarted")
    );
    assert_eq!(condition(&status.conditions, "Ready"), ("True", "InfoReported"));

    let wanted =
        |value: &str| json!({"annotations": {"capi-provider.agent-install.openshift.io/provisioned": value}});
    world.machine("joined", "user-data", &wanted("joined")).await;
    world.machine_of("hc", "hosted", "user-data", &json!({})).await;
    for name in ["joined", "hosted"] {
        let (agent, status) = after_reboot(&world, name).await;
        assert!(!status.ready, "{name}");
        world.installed(&agent).await;
        world.await_ready(name).await;
    }

    world.machine("wrong", "user-data", &wanted("soon")).await;
    eventually("the mistake to be named", async || {
        let machine: AgentMachine = world.get("wrong").await;
        let conditions = machine.status?.conditions;
        let reserved = conditions.into_iter().find(|one| one.type_ == "AgentReserved")?;
        reserved
            .message
            .contains("write rebooted or joined")
            .then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_zones_of_agents_are_the_failure_domains_of_clusters_with_control_planes_on_agents() {
    let world = World::start().await;
    let zone = |zone: &str| json!({"topology.kubernetes.io/zone": zone});
    world.agent("a", &json!({"labels": zone("west")})).await;
    world.agent("b", &json!({"labels": zone("east")})).await;
    world
        .agent("c", &json!({"labels": zone("north"), "approved": false}))
        .await;
    world
        .agent("d", &json!({"labels": zone("south"), "cluster": "another"}))
        .await;
    world.cluster("one").await;
    world.hosted_cluster("hc").await;
    let await_domains = async |wanted: [&str; 2]| {
        eventually("the failure domains", async || {
            let cluster: AgentCluster = world.get("one").await;
            let domains = cluster.status?.failure_domains;
            let are_for_control_planes = domains.iter().all(|domain| domain.control_plane == Some(true));
            let names: Vec<&str> = domains.iter().map(|domain| domain.name.as_str()).collect();
            (names == wanted && are_for_control_planes).then_some(())
        })
        .await;
    };
    await_domains(["east", "west"]).await;
    // A host that is silent still has its zone.
    world
        .agent_status("a", &json!({"Connected": "False"}), "disconnected-unbound")
        .await;
    world.label_agent("b", "topology.kubernetes.io/zone", "far").await;
    await_domains(["far", "west"]).await;
    let hosted: AgentCluster = world.get("hc").await;
    assert!(hosted.status.unwrap_or_default().failure_domains.is_empty());
}
