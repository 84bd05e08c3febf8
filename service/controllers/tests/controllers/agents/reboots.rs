//! Reboots of installed hosts that an annotation of their Agents requests.

use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use muster_api::bmc::{BmcCreateParams, BmcPowerOutcome};
use muster_api::ids::HostId;
use muster_api::time::{Timestamp, millis};
use muster_core::lifecycle::bmc::{BmcEvent, PowerDone};
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::{Host, HostState, NodeAgent};
use muster_operations::now;
use muster_resources::{Agent, AgentReboot, AgentRebootOutcome};
use muster_store::EventQuery;
use serde_json::{Value, json};

use super::world::World;
use crate::backend::eventually;

const REQUESTED: &str = "agent.agent-install.openshift.io/reboot-requested";
const ANSWER: &str = "agent.agent-install.openshift.io/reboot";

async fn annotate(world: &World, id: HostId, value: Value) {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {REQUESTED: value}}}));
    let api = world.api::<Agent>();
    api.patch(&id.to_string(), &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// Requests a reboot, `after` seconds after now. Returns the time of the request.
async fn request(world: &World, id: HostId, after: u64) -> Timestamp {
    let at = now() + Duration::from_secs(after);
    let text = millis(Some(at));
    annotate(world, id, json!(text)).await;
    text.parse().unwrap()
}

/// The answer to that request, when it has this outcome.
async fn answered(world: &World, id: HostId, at: Timestamp, outcome: AgentRebootOutcome) -> AgentReboot {
    eventually(&format!("the answer {outcome:?}"), async || {
        let agent = world.agent(id).await?;
        let answer: AgentReboot = serde_json::from_str(agent.annotations().get(ANSWER)?).unwrap();
        let is_it = answer.requested == millis(Some(at)) && answer.outcome == outcome;
        is_it.then_some(answer)
    })
    .await
}

/// Number of requests that were accepted.
async fn accepted(world: &World) -> usize {
    let store = world.backend.operations.store();
    let listed = store.list_events(&EventQuery::default()).await.unwrap();
    let asked = listed
        .events
        .iter()
        .filter(|event| event.name == "muster_host_reboot_asked");
    asked.count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_reboots_once_for_each_request_and_a_restart_repeats_none() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let cluster = world.cluster("one").await;
    let node = |agent: NodeAgent| {
        let cluster_id = cluster.id;
        move |host: &mut Host| {
            host.state = HostState::AddedToExistingCluster;
            host.cluster_id = Some(cluster_id);
            host.data.node_agent = agent;
        }
    };
    let id = world.host_as(&infra_env, node(NodeAgent::Installed)).await;
    let bare = world.host_as(&infra_env, node(NodeAgent::Absent)).await;

    let first = request(&world, id, 1).await;
    let answer = answered(&world, id, first, AgentRebootOutcome::Pending).await;
    assert_eq!(answer.by, "the agent on its node");
    let hosts = world.backend.operations.hosts.clone();
    let done = HostEvent::RebootReported { failure: None };
    hosts.apply(infra_env.id, id, done).await.unwrap();
    answered(&world, id, first, AgentRebootOutcome::Done).await;

    // Every Agent is reconciled after a restart.
    let world = World::on(world.stop().await);
    let refused = request(&world, bare, 1).await;
    let answer = answered(&world, bare, refused, AgentRebootOutcome::Refused).await;
    assert!(
        answer.reason.contains("no agent of this service"),
        "{}",
        answer.reason
    );
    let second = request(&world, id, 2).await;
    answered(&world, id, second, AgentRebootOutcome::Pending).await;
    assert_eq!(accepted(&world).await, 2);
    annotate(&world, id, Value::Null).await;
    let answer = answered(&world, id, second, AgentRebootOutcome::Failed).await;
    assert!(answer.reason.contains("withdrawn"), "{}", answer.reason);

    annotate(&world, id, json!("now")).await;
    eventually("the text that is no time to be refused", async || {
        let agent = world.agent(id).await?;
        let answer: AgentReboot = serde_json::from_str(agent.annotations().get(ANSWER)?).unwrap();
        (answer.requested == "now" && answer.outcome == AgentRebootOutcome::Refused).then_some(())
    })
    .await;
    assert_eq!(accepted(&world).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bmc_of_a_host_reboots_it_and_its_outcome_is_found_again_after_a_restart() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let cluster = world.cluster("one").await;
    let id = world
        .host_as(&infra_env, |host| {
            host.state = HostState::AddedToExistingCluster;
            host.cluster_id = Some(cluster.id);
        })
        .await;
    let params = BmcCreateParams {
        name: Some("r1u7".into()),
        address: "192.0.2.7".into(),
        user_name: "root".into(),
        password: "secret".into(),
        certificate: None,
        system_id: None,
        boot: None,
        discover: Some(false),
    };
    let bmcs = world.backend.operations.bmcs.clone();
    let mut bmc = bmcs
        .add(infra_env.id, vec![params], false)
        .await
        .unwrap()
        .remove(0);
    bmc.host_id = Some(id);
    let store = world.backend.operations.store();
    store.update_bmc(&bmc, &[]).await.unwrap();

    let at = request(&world, id, 1).await;
    let answer = answered(&world, id, at, AgentRebootOutcome::Pending).await;
    assert_eq!(answer.by, "BMC r1u7");
    let asked = eventually("the request to the BMC", async || {
        let bmc = bmcs.get(infra_env.id, bmc.id).await.unwrap();
        bmc.power.pending().cloned()
    })
    .await;
    assert!(asked.force && asked.reboot_of == Some(at));

    // The driver ends it, and is stopped before it notes that with the host.
    let backend = world.stop().await;
    let done = PowerDone {
        id: asked.id,
        state: Some("On".into()),
        certificate: None,
        problem: None,
    };
    bmcs.apply(bmc.id, None, BmcEvent::PowerDone(done)).await.unwrap();
    let world = World::on(backend);
    answered(&world, id, at, AgentRebootOutcome::Done).await;
    let bmc = bmcs.get(infra_env.id, bmc.id).await.unwrap();
    let request = bmc.power.request.unwrap();
    assert_eq!((request.id, request.outcome), (asked.id, BmcPowerOutcome::Done));
    assert_eq!(accepted(&world).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_no_node_yet_is_not_rebooted() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let cluster = world.cluster("one").await;
    let id = world
        .host_as(&infra_env, |host| {
            host.state = HostState::InstallingInProgress;
            host.cluster_id = Some(cluster.id);
            host.data.node_agent = NodeAgent::Installed;
        })
        .await;
    let at = request(&world, id, 1).await;
    let answer = answered(&world, id, at, AgentRebootOutcome::Refused).await;
    assert!(
        answer.reason.contains("only a node of a cluster"),
        "{}",
        answer.reason
    );
    assert_eq!(accepted(&world).await, 0);
}
