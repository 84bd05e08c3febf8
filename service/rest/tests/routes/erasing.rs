//! A host that leaves a cluster is erased before it is available again.

use muster_api::MUSTER_PATH;
use muster_api::host::{HostKind, HostStage};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::now;
use muster_core::record::{HostState, Progress};
use muster_tests::database::{erased, inventory};
use serde_json::{Value, json};

use crate::world::{World, host_id};

const AGENT: &str = "muster-agent/0.1.0";

/// A host of that pool that was cancelled while its disk was written.
async fn written(world: &World, pool: InfraEnvId) -> String {
    let cluster = world.cluster().await;
    let host = world.host(pool, 1).await;
    let id: HostId = host_id(1).parse().unwrap();
    let mut record = world.operations.hosts.get(pool, id).await.unwrap();
    record.cluster_id = Some(cluster);
    record.state = HostState::Cancelled;
    record.data.kind = HostKind::AddToExistingClusterHost;
    record.data.progress = Some(Progress {
        stage: HostStage::WritingImageToDisk,
        percentage: 60,
        info: String::new(),
        stage_started_at: now(),
        stage_updated_at: now(),
    });
    world
        .operations
        .store()
        .save_host(&record, None, &[])
        .await
        .unwrap();
    host
}

/// The host boots the discovery image, and reports its disks.
async fn returns(world: &World, pool: InfraEnvId, host: &str) {
    let agent = world.agent(pool).await;
    let body = json!({"host_id": host_id(1), "discovery_agent_version": AGENT});
    world
        .post(&agent, &format!("/infra-envs/{pool}/hosts"), &body)
        .await
        .expect(201);
    world.report(pool, host, "inventory", &inventory(1)).await;
}

async fn shown(world: &World, host: &str) -> Value {
    world.get(&world.operator, host).await.expect(200).json()
}

/// The request that the host gets with its poll.
async fn asked(world: &World, pool: InfraEnvId, host: &str) -> Option<Value> {
    let agent = world.agent(pool).await;
    let polled = world.get(&agent, &format!("{host}/instructions")).await;
    let steps = polled.expect(200).json();
    let steps = steps["instructions"].as_array().cloned().unwrap_or_default();
    let step = steps.iter().find(|step| step["step_type"] == "erase-disks")?;
    Some(serde_json::from_str(step["args"][0].as_str().unwrap()).unwrap())
}

#[tokio::test]
async fn a_host_that_leaves_a_cluster_is_erased_and_then_available() {
    let world = World::open().await;
    let pool = world.infra_env(json!({"cleaning": {"depth": "full"}})).await;
    let host = written(&world, pool).await;
    let unbind = format!("{host}/actions/unbind");
    world.post(&world.operator, &unbind, &json!({})).await.expect(200);
    assert_eq!(
        asked(&world, pool, &host).await,
        None,
        "it is not in discovery yet"
    );
    returns(&world, pool, &host).await;
    let request = asked(&world, pool, &host).await.unwrap();
    assert_eq!(request["depth"], "full");
    assert_eq!(request["disks"].as_array().unwrap().len(), 1);
    assert_eq!(request["disks"][0]["serial"], "S-1-sda");
    let pending = shown(&world, &host).await;
    assert_eq!(pending["status"], "discovering-unbound");
    assert_eq!(pending["cleaning"]["stage"], "erasing");
    let skip = format!("{MUSTER_PATH}{host}/actions/skip-erasure");
    world.post(&world.operator, &skip, &json!({})).await.expect(409);
    world.report(pool, &host, "erase-disks", &erased(&request)).await;
    let free = shown(&world, &host).await;
    assert_eq!(free["status"], "known-unbound", "{}", free["status_info"]);
    assert!(free.get("cleaning").is_none());
    assert_eq!(free["cleaned"][0]["outcome"], "erased");
    assert_eq!(free["cleaned"][0]["disks"][0]["report"]["samples"], 8);
    world.post(&world.operator, &skip, &json!({})).await.expect(409);
}

#[tokio::test]
async fn a_disk_that_refuses_keeps_the_host_out_of_the_pool_until_a_person_frees_it() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let host = written(&world, pool).await;
    let unbind = format!("{host}/actions/unbind");
    world.post(&world.operator, &unbind, &json!({})).await.expect(200);
    returns(&world, pool, &host).await;
    let request = asked(&world, pool, &host).await.unwrap();
    let mut refuses = erased(&request);
    refuses["disks"][0]["state"] = json!("failed");
    refuses["disks"][0]["message"] = json!("the disk is frozen");
    world.report(pool, &host, "erase-disks", &refuses).await;
    let failed = shown(&world, &host).await;
    assert_eq!(failed["cleaning"]["stage"], "failed");
    assert!(
        failed["status_info"]
            .as_str()
            .unwrap()
            .contains("the disk is frozen")
    );
    let findings = failed["findings"].as_array().unwrap();
    assert!(
        findings
            .iter()
            .any(|finding| finding["kind"] == "cannot-be-erased")
    );
    assert_eq!(asked(&world, pool, &host).await, None);
    let act = async |action: &str| {
        let path = format!("{MUSTER_PATH}{host}/actions/{action}");
        world
            .post(&world.operator, &path, &json!({}))
            .await
            .expect(200)
            .json()
    };
    assert_eq!(act("retry-erasure").await["cleaning"]["attempt"], 2);
    let again = asked(&world, pool, &host).await.unwrap();
    assert_ne!(again["id"], request["id"]);
    let mut refuses = erased(&again);
    refuses["disks"][0]["state"] = json!("failed");
    world.report(pool, &host, "erase-disks", &refuses).await;
    let skipped = act("skip-erasure").await;
    assert_eq!(skipped["status"], "known-unbound");
    assert_eq!(skipped["cleaned"][0]["outcome"], "skipped");
}

#[tokio::test]
async fn settings_that_have_no_effect_are_refused() {
    let world = World::open().await;
    let pool = world.infra_env(json!({"cleaning": {"depth": "none"}})).await;
    let path = format!("/infra-envs/{pool}");
    let shown = world.get(&world.operator, &path).await.expect(200).json();
    assert_eq!(shown["cleaning"]["depth"], "none");
    for (cleaning, words) in [
        (
            json!({"depth": "metadata", "overwrite": true}),
            "cleaning.overwrite",
        ),
        (json!({"depth": "none", "all_disks": true}), "cleaning.all_disks"),
        (json!({"depth": "deep"}), "deep"),
    ] {
        let refused = world
            .patch(&world.operator, &path, &json!({"cleaning": cleaning}))
            .await;
        assert!(matches!(refused.status, 400 | 422), "{}", refused.text());
        assert!(refused.text().contains(words), "{}", refused.text());
    }
}
