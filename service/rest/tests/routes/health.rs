//! The health of hosts, from an agent's report to what is shown, searched and counted; hardware that changes between two boots.

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::rules::findings::{DISK_FAILING, OVERHEATING};
use muster_tests::database::inventory;
use serde_json::{Value, json};

use crate::world::{World, host_id};

const AGENT: &str = "muster-agent/0.1.0";

async fn register(world: &World, pool: InfraEnvId) {
    let agent = world.agent(pool).await;
    let body = json!({"host_id": host_id(1), "discovery_agent_version": AGENT});
    let path = format!("/infra-envs/{pool}/hosts");
    world.post(&agent, &path, &body).await.expect(201);
}

async fn shown(world: &World, host: &str) -> Value {
    world.get(&world.operator, host).await.expect(200).json()
}

async fn version(world: &World, pool: InfraEnvId) -> i64 {
    let id: HostId = host_id(1).parse().unwrap();
    world.operations.hosts.get(pool, id).await.unwrap().version
}

/// Number of hosts that fit.
async fn count(world: &World, query: &str) -> Value {
    let path = format!("/api/muster/v1/hosts?q={query}");
    world.get(&world.operator, &path).await.expect(200).json()["total"].clone()
}

fn sick() -> Value {
    json!({
        "load_percent": 120,
        "temperatures": [{"sensor": "nvme0", "celsius": 84, "limit": 81}],
        "disks": [{"name": "nvme0n1", "faults": ["read-only"]}],
    })
}

#[tokio::test]
async fn a_report_is_shown_found_and_counted_and_an_equal_one_writes_nothing() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let host = world.host(pool, 1).await;
    assert!(shown(&world, &host).await.get("health").is_none());
    assert_eq!(count(&world, "temp:*").await, 0);
    world.report(pool, &host, "health", &sick()).await;
    let found = shown(&world, &host).await;
    assert_eq!(found["health"]["last"], sick());
    assert_eq!(found["health"]["worst"]["celsius"], 84);
    assert_eq!(found["health"]["hours"][0]["load_percent"], 120);
    let kinds: Vec<&str> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, [DISK_FAILING, OVERHEATING]);
    assert_eq!(found["status"], "known-unbound", "it is refused nothing");
    for (query, hosts) in [
        ("temp:%3E80", 1),
        ("temp:%3E84", 0),
        ("finding:disk-failing", 1),
        ("finding:link-slow", 0),
    ] {
        assert_eq!(count(&world, query).await, hosts, "{query}");
    }
    let counts = world.operations.hosts.count_unhealthy().await.unwrap();
    assert!(counts.contains(&(OVERHEATING, 1)), "{counts:?}");
    let before = version(&world, pool).await;
    world.report(pool, &host, "health", &sick()).await;
    assert_eq!(version(&world, pool).await, before);
    world.report(pool, &host, "health", &json!({})).await;
    assert_eq!(count(&world, "finding:*").await, 0);
    assert!(version(&world, pool).await > before);
}

#[tokio::test]
async fn our_agent_is_asked_for_it_with_a_poll() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let host = world.host(pool, 1).await;
    register(&world, pool).await;
    let agent = world.agent(pool).await;
    let polled = world.get(&agent, &format!("{host}/instructions")).await;
    let steps = polled.expect(200).json();
    let steps = steps["instructions"].as_array().unwrap();
    let asked = steps.iter().find(|step| step["step_type"] == "health").unwrap();
    assert_eq!(asked["args"], json!([r#"{"interval_seconds":60}"#]));
}

#[tokio::test]
async fn memory_that_is_gone_after_a_boot_is_an_event_with_both_values() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let host = world.host(pool, 1).await;
    register(&world, pool).await;
    let mut less = inventory(1);
    let all = less["memory"]["physical_bytes"].as_i64().unwrap();
    less["memory"]["physical_bytes"] = json!(all / 2);
    world.report(pool, &host, "inventory", &less).await;
    let path = format!("/events?infra_env_id={pool}");
    let events = world.get(&world.operator, &path).await.expect(200).json();
    let events = events.as_array().unwrap().iter();
    let changed: Vec<&Value> = events
        .filter(|event| event["name"] == "muster_hardware_changed")
        .collect();
    let [changed] = changed[..] else {
        panic!("{changed:#?}");
    };
    assert_eq!(changed["severity"], "warning");
    let message = changed["message"].as_str().unwrap();
    assert!(
        message.contains(": memory: ") && message.contains(" -> "),
        "{message}"
    );
}
