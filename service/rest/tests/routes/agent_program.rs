//! Hosts in discovery are offered the agent of the live image, and download it with their token.

use muster_api::agent::AGENT_BUILD_HEADER;
use muster_api::ids::InfraEnvId;
use muster_core::record::HostState;
use muster_image::testing::LiveTree;
use muster_tests::http::Answer;
use serde_json::{Value, json};

use crate::world::{Settings, World, host_id};

const INITRD_LENGTH: usize = 9_000;
/// Bytes of the initramfs before the agent.
const OFFSET: usize = 4_000;

/// Writes a live image with an agent of this digest.
fn write_live_image(world: &World, sha256: &str, version: &str) {
    let mut tree = LiveTree::new(INITRD_LENGTH);
    tree.description["agent_version"] = version.into();
    tree.description["agent"] =
        json!({"offset": OFFSET, "length": INITRD_LENGTH - OFFSET, "size": 77, "sha256": sha256});
    let made = world.live_image().with_extension("new");
    tree.write_iso(&made);
    std::fs::rename(made, world.live_image()).unwrap();
}

async fn registered(world: &World, pool: InfraEnvId) -> String {
    let hosts = format!("/infra-envs/{pool}/hosts");
    let body = json!({"host_id": host_id(1), "discovery_agent_version": "muster-agent/0.1.0"});
    world
        .post(&world.agent(pool).await, &hosts, &body)
        .await
        .expect(201);
    format!("{hosts}/{}", host_id(1))
}

/// The program that is offered to an agent with this build when it polls.
async fn told(world: &World, pool: InfraEnvId, host: &str, build: Option<&str>) -> Option<Value> {
    let headers: Vec<_> = build
        .map(|build| (AGENT_BUILD_HEADER, build.to_owned()))
        .into_iter()
        .collect();
    let path = format!("{host}/instructions");
    let agent = world.agent(pool).await;
    let steps = world
        .send(&agent, "GET", &path, None, &headers)
        .await
        .expect(200)
        .json();
    let steps = steps["instructions"].as_array().cloned().unwrap_or_default();
    let step = steps
        .into_iter()
        .find(|step| step["step_type"] == "upgrade-agent")?;
    let request: Value = serde_json::from_str(step["args"][0].as_str().unwrap()).unwrap();
    Some(request["program"].clone())
}

#[tokio::test]
async fn a_host_in_discovery_is_told_of_the_agent_of_the_live_image_and_downloads_it() {
    let world = World::open().await;
    let (pool, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    let host = registered(&world, pool).await;
    let (old, new) = ("0a".repeat(32), "0b".repeat(32));
    assert_eq!(told(&world, pool, &host, Some(&old)).await, None, "no live image");
    write_live_image(&world, &new, "0.1.0");
    let packed_size = INITRD_LENGTH - OFFSET;
    assert_eq!(
        told(&world, pool, &host, Some(&old)).await,
        Some(json!({"sha256": new, "size": 77, "packed_size": packed_size}))
    );
    for build in [None, Some(new.as_str()), Some("no digest")] {
        assert_eq!(told(&world, pool, &host, build).await, None, "{build:?}");
    }

    let path = format!("{host}/agent-program?sha256={new}");
    let agent = world.agent(pool).await;
    let whole = world.get(&agent, &path).await.expect(200);
    assert_eq!(whole.headers["content-length"], packed_size.to_string().as_str());
    let rest = world
        .get(&agent, &format!("{path}&offset=4990"))
        .await
        .expect(200);
    assert_eq!(rest.headers["content-length"], "10");
    assert!(whole.text().ends_with(&rest.text()));
    world
        .get(&agent, &format!("{path}&offset=5001"))
        .await
        .expect(400);
    let another = format!("{host}/agent-program?sha256={old}");
    world.get(&agent, &another).await.expect(404);
    let unknown = path.replace(&host_id(1), &host_id(2));
    world.get(&agent, &unknown).await.expect(404);
    for (credential, status) in [
        (world.agent(other).await, 403),
        (world.url(pool).await, 401),
        (crate::world::Credential::Nothing, 401),
    ] {
        let refused: Answer = world.get(&credential, &path).await;
        assert_eq!(refused.status, status, "{}", refused.text());
    }

    // An older agent, one with an unsupported protocol, and a host with other work.
    for version in ["0.0.9", "9.0.0+protocol.4000000"] {
        write_live_image(&world, &new, version);
        assert_eq!(told(&world, pool, &host, Some(&old)).await, None, "{version}");
    }
    write_live_image(&world, &new, "0.2.0");
    assert!(told(&world, pool, &host, Some(&old)).await.is_some());
    for state in [HostState::InstallingInProgress, HostState::AddedToExistingCluster] {
        world.put(pool, 1, state.clone()).await;
        assert_eq!(told(&world, pool, &host, Some(&old)).await, None, "{state:?}");
    }
}

#[tokio::test]
async fn a_failed_handover_is_an_event_with_its_reason() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let host = registered(&world, pool).await;
    let output =
        json!({"agent_image": "muster-agent/0.2.0", "result": "failure", "reason": "it does not start"});
    world.report(pool, &host, "upgrade-agent", &output).await;
    let events = world
        .get(&world.operator, &format!("/events?host_ids={}", host_id(1)))
        .await
        .expect(200)
        .json();
    let failed: Vec<&Value> = events
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["name"] == "upgrade_agent_failed")
        .collect();
    assert_eq!(failed.len(), 1);
    let message = failed[0]["message"].as_str().unwrap();
    assert!(message.contains("it does not start"), "{message}");
}

#[tokio::test]
async fn running_agents_can_be_left_as_they_are() {
    let settings = Settings {
        replaces_agents: false,
        ..Settings::default()
    };
    let world = World::with(settings).await;
    let pool = world.infra_env(json!({})).await;
    let host = registered(&world, pool).await;
    write_live_image(&world, &"0b".repeat(32), "0.1.0");
    assert_eq!(told(&world, pool, &host, Some(&"0a".repeat(32))).await, None);
}
