//! Placement as REST answers it, read from a Kubernetes API.

use std::collections::BTreeMap;

use muster_api::node_pools::Controllers;
use muster_core::record::KubeRef;
use muster_resources::AgentMachine;
use serde_json::json;

use super::world::{self, AGENTS, NAMESPACE, World};
use crate::backend::eventually;

#[tokio::test(flavor = "multi_thread")]
async fn the_funnel_of_a_machine_has_the_numbers_of_its_status() {
    let world = World::start().await;
    world.cluster("one").await;
    world.agent("a", &json!({})).await;
    for name in ["b", "c"] {
        world.agent(name, &json!({"approved": false})).await;
    }
    world.bootstrap("user-data", &world::pointer()).await;
    world.machine("m1", "user-data", &json!({})).await;
    world.await_taken("m1").await;
    world.machine("m2", "user-data", &json!({})).await;
    let status = eventually("the reasons against all Agents", async || {
        let machine: AgentMachine = world.get("m2").await;
        machine.status.filter(|status| status.candidates.len() == 3)
    })
    .await;
    let mut listed = BTreeMap::<&str, usize>::new();
    for one in &status.candidates {
        *listed.entry(&one.reason).or_default() += 1;
    }

    let operations = world.operations();
    let one = KubeRef::new(NAMESPACE, "m2");
    let found = operations.placements(Some(one)).await.unwrap();
    assert_eq!((found.controllers, found.note.as_str()), (Controllers::Here, ""));
    let [placed] = found.placements.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((placed.considered, placed.machine.as_str()), (3, "m2"));
    let steps = placed.candidates.iter();
    let steps: BTreeMap<&str, usize> = steps.map(|step| (step.reason.as_str(), step.hosts)).collect();
    assert_eq!(steps, listed);
    assert_eq!(placed.candidates.last().map(|step| step.left), Some(0));
    let wait = placed.wait.as_ref().unwrap();
    assert!(wait.what.starts_with("None of 3 Agents"), "{wait:?}");

    let all = operations.placements(None).await.unwrap().placements;
    let first = all.iter().find(|placed| placed.name == "m1").unwrap();
    assert_eq!((all.len(), first.agent.clone()), (2, format!("{AGENTS}/a")));
    let none = operations.placements(Some(KubeRef::new(NAMESPACE, "m3"))).await;
    assert!(none.unwrap().placements.is_empty());
    let pools = operations.node_pools().await.unwrap();
    assert_eq!((pools.note.as_str(), pools.node_pools.len()), ("", 0));
    let absent = operations.node_pool(&KubeRef::new("clusters", "workers")).await;
    assert_eq!(absent.unwrap(), None);
}
