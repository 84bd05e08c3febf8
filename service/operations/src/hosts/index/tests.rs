//! The index follows what it shows.

use chrono::TimeDelta;
use muster_api::ids::InfraEnvId;
use muster_api::inventory::{Inventory, SystemVendor};
use muster_core::lifecycle::host::HostEvent;
use muster_core::query::{Key, Query, Sort};

use super::{FoundHosts, HostSearch};
use crate::testing::world::World;

fn wanted(query: &str) -> HostSearch {
    HostSearch {
        scope: None,
        query: Query::parse(query).unwrap(),
        sort: Sort::default(),
        after: None,
        limit: 100,
        facets: Vec::new(),
        facet_values: 10,
    }
}

async fn search(world: &World, query: &str) -> FoundHosts {
    world.operations.host_index.search(wanted(query)).await.unwrap()
}

#[tokio::test]
async fn every_change_is_in_the_next_search() {
    let world = World::new().await;
    let (pooled, installing) = world.hosts().await;
    let hosts = &world.operations.hosts;
    assert_eq!(search(&world, "").await.total, 2);

    let reported = Inventory {
        hostname: "worker-7".into(),
        system_vendor: Some(SystemVendor {
            product_name: "PowerEdge R750".into(),
            ..SystemVendor::default()
        }),
        ..Inventory::default()
    };
    let event = HostEvent::InventoryReported(reported);
    hosts.apply(pooled.infra_env_id, pooled.id, event).await.unwrap();
    let found = search(&world, "model:*r750*").await;
    assert_eq!((found.total, found.visible), (1, 2));
    assert_eq!(found.hosts[0].id, pooled.id);
    assert_eq!(found.revision, world.operations.change_log.position());

    let seen_before = found.hosts[0].seen_at;
    world.clocks.pass(TimeDelta::seconds(50));
    world.poll(&pooled).await;
    let polled = search(&world, "model:*r750*").await;
    assert_eq!(polled.hosts[0].seen_at, seen_before + TimeDelta::seconds(50));

    let none = search(&world, "model:*r750* state:installing-in-progress").await;
    assert_eq!(none.total, 0);
    let alone: Vec<_> = none
        .removals
        .iter()
        .map(|removal| removal.removes_alone)
        .collect();
    assert_eq!(alone, [1, 1]);

    hosts.delete(pooled.infra_env_id, pooled.id).await.unwrap();
    let left = search(&world, "").await;
    assert_eq!(
        left.hosts.iter().map(|host| host.id).collect::<Vec<_>>(),
        [installing.id]
    );
}

#[tokio::test]
async fn a_scope_is_all_that_is_seen_and_counted() {
    let world = World::new().await;
    let (pooled, _) = world.hosts().await;
    let scoped = |scope| HostSearch {
        scope: Some(scope),
        facets: vec![Key::Pool],
        ..wanted("")
    };
    let index = &world.operations.host_index;
    let own = index.search(scoped(pooled.infra_env_id)).await.unwrap();
    assert!(own.total > 0 && own.total == own.visible);
    assert_eq!(own.facets[0].values[0].value, "hw");
    let other = index.search(scoped(InfraEnvId::random())).await.unwrap();
    assert_eq!((other.total, other.visible), (0, 0));
    assert!(other.facets[0].values.is_empty() && other.removals.is_empty());
}

#[tokio::test]
async fn an_index_that_missed_changes_is_read_again() {
    let world = World::new().await;
    let (pooled, _) = world.hosts().await;
    search(&world, "").await;
    // As for a deleted row that no change reported.
    let at = world.operations.now();
    let deleted = world
        .operations
        .store
        .delete_host(pooled.infra_env_id, pooled.id, at, &[]);
    assert!(deleted.await.unwrap());
    assert_eq!(search(&world, "").await.total, 1);
    world.operations.change_log.close();
    assert_eq!(search(&world, "").await.total, 1, "also while the service stops");
}
