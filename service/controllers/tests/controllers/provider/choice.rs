//! The Agent that a Machine takes, and the reasons against the others.

use std::collections::BTreeSet;

use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt;
use kube::api::ListParams;
use muster_resources::AgentMachine;
use serde_json::json;

use super::world::{self, AGENTS, NAMESPACE, World, condition};
use crate::backend::eventually;

#[tokio::test(flavor = "multi_thread")]
async fn twenty_machines_at_once_take_twenty_agents_with_one_write_each() {
    const MANY: usize = 20;
    let world = World::start().await;
    for n in 0..MANY {
        world.agent(&format!("a{n:02}"), &json!({})).await;
    }
    world.bootstrap("user-data", &world::pointer()).await;
    // All begin when their cluster exists.
    for n in 0..MANY {
        world.machine(&format!("m{n:02}"), "user-data", &json!({})).await;
    }
    world.cluster("one").await;
    let mut taken = BTreeSet::new();
    for n in 0..MANY {
        let machine = world.await_taken(&format!("m{n:02}")).await;
        taken.insert(machine.status.unwrap().agent_ref.unwrap().name);
    }
    assert_eq!(taken.len(), MANY);
    for name in taken {
        let agent = world.get_agent(&name).await;
        assert_eq!(
            agent.metadata.generation,
            Some(2),
            "{name} was written more than once"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_machines_one_takes_the_only_agent_and_the_other_says_why_it_waits() {
    let world = World::start().await;
    world.agent("a", &json!({})).await;
    world.bootstrap("user-data", &world::pointer()).await;
    for name in ["m1", "m2"] {
        world.machine(name, "user-data", &json!({})).await;
    }
    world.cluster("one").await;
    let (winner, loser) = eventually("one of them to win", async || {
        let mut reserved = Vec::new();
        for name in ["m1", "m2"] {
            let machine: AgentMachine = world.get(name).await;
            let status = machine.status?;
            reserved.push((
                condition(&status.conditions, "AgentReserved") == ("True", "AgentReserved"),
                status,
            ));
        }
        let waits = |status: &muster_resources::AgentMachineStatus| {
            condition(&status.conditions, "AgentReserved") == ("False", "NoSuitableAgents")
        };
        match (&reserved[0], &reserved[1]) {
            ((true, _), (false, loser)) if waits(loser) => Some(("m1", loser.clone())),
            ((false, loser), (true, _)) if waits(loser) => Some(("m2", loser.clone())),
            _ => None,
        }
    })
    .await;
    let [why] = loser.candidates.as_slice() else {
        panic!("{:?}", loser.candidates)
    };
    assert_eq!((why.name.as_str(), why.reason.as_str()), ("a", "TakenBy"));
    assert_eq!(
        why.message,
        format!("it was taken for the AgentMachine {NAMESPACE}/{winner}")
    );
    let event = eventually("its Event", async || {
        let events = world.api::<Event>().list(&ListParams::default()).await.unwrap();
        events
            .items
            .into_iter()
            .find(|one| one.reason.as_deref() == Some("NoSuitableAgents"))
    })
    .await;
    assert!(event.note.unwrap().contains("it was taken for"));
    // The winner is deleted, and the other takes the Agent.
    let other = if winner == "m1" { "m2" } else { "m1" };
    world.delete_machine(winner).await;
    world.awaits_hook(winner).await;
    let released = eventually("the Agent to be given back", async || {
        let agent = world.get_agent("a").await;
        (agent.labels().get("agentMachineRef").map(String::as_str) != Some(winner)).then_some(agent)
    })
    .await;
    drop(released);
    world.agent_status("a", &json!({}), "known-unbound").await;
    world.await_taken(other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_that_are_not_fit_are_listed_with_their_reasons_until_one_is() {
    let world = World::start().await;
    world.cluster("one").await;
    world.agent("small", &json!({"labels": {"size": "small"}})).await;
    world.agent("unapproved", &json!({"approved": false})).await;
    world.agent("silent", &json!({})).await;
    world
        .agent_status("silent", &json!({"Connected": "False"}), "disconnected-unbound")
        .await;
    world.agent("unchecked", &json!({})).await;
    world
        .agent_status(
            "unchecked",
            &json!({"Validated": "False"}),
            "insufficient-unbound",
        )
        .await;
    world.agent("bound", &json!({"cluster": "another"})).await;
    world
        .agent(
            "west",
            &json!({"labels": {"topology.kubernetes.io/zone": "west"}}),
        )
        .await;
    world.bootstrap("user-data", &world::pointer()).await;
    let wanted = json!({
        "selector": {"matchExpressions": [{"key": "size", "operator": "NotIn", "values": ["small"]}]},
        "failureDomain": "east",
    });
    world.machine("m", "user-data", &wanted).await;
    let status = eventually("all of them to be listed", async || {
        let machine: AgentMachine = world.get("m").await;
        machine.status.filter(|status| status.candidates.len() == 6)
    })
    .await;
    let reasons: BTreeSet<_> = status
        .candidates
        .iter()
        .map(|one| (one.name.as_str(), one.reason.as_str()))
        .collect();
    let elsewhere = "InAnotherFailureDomain";
    let wanted = BTreeSet::from([
        ("small", "NotSelected"),
        ("unapproved", elsewhere),
        ("silent", elsewhere),
        ("unchecked", elsewhere),
        ("bound", "OfAnotherCluster"),
        ("west", elsewhere),
    ]);
    assert_eq!(reasons, wanted);

    // Without the failure domain each reports its own mistake, and one without a mistake is taken.
    world.bootstrap("other-data", &world::pointer()).await;
    world
        .label_agent("west", "topology.kubernetes.io/zone", "east")
        .await;
    let machine = world.await_taken("m").await;
    assert_eq!(machine.status.clone().unwrap().agent_ref.unwrap().name, "west");
    assert_eq!(machine.status.unwrap().failure_domain.as_deref(), Some("east"));
    world.machine("m2", "other-data", &json!({})).await;
    let status = eventually("the reasons", async || {
        let machine: AgentMachine = world.get("m2").await;
        machine.status.filter(|status| status.agent_ref.is_some())
    })
    .await;
    let reasons: BTreeSet<_> = status
        .candidates
        .iter()
        .map(|one| (one.name.as_str(), one.reason.as_str()))
        .collect();
    let wanted = BTreeSet::from([
        ("unapproved", "NotApproved"),
        ("silent", "NotConnected"),
        ("unchecked", "NotValidated"),
        ("bound", "OfAnotherCluster"),
        ("west", "TakenBy"),
    ]);
    assert_eq!(
        (status.agent_ref.unwrap().name.as_str(), reasons),
        ("small", wanted)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_was_taken_before_is_found_again_and_that_of_a_namesake_is_not() {
    let world = World::start().await;
    world.cluster("one").await;
    world.bootstrap("user-data", &world::pointer()).await;
    world
        .agent("a", &json!({"taken": ["m", "elsewhere"], "cluster": "other"}))
        .await;
    world
        .agent("b", &json!({"taken": ["m", NAMESPACE], "cluster": "one"}))
        .await;
    world.installed("b").await;
    world.agent("c", &json!({})).await;
    world.machine("m", "user-data", &json!({})).await;
    let machine = world.await_taken("m").await;
    assert_eq!(machine.status.unwrap().agent_ref.unwrap().name, "b");
    assert_eq!(
        world
            .get_agent("a")
            .await
            .spec
            .cluster_deployment_name
            .unwrap()
            .name,
        "other"
    );
    assert!(
        !world
            .get_agent("c")
            .await
            .labels()
            .contains_key("agentMachineRef")
    );
}

/// Users who may create AgentMachines in one namespace cannot take machines of another one.
#[tokio::test(flavor = "multi_thread")]
async fn agents_of_another_namespace_are_taken_only_when_their_infra_env_gives_them() {
    let world = World::start().await;
    world.infra_env(Some("somebody, else")).await;
    world.cluster("one").await;
    world.agent("a", &json!({})).await;
    world.bootstrap("user-data", &world::pointer()).await;
    world.machine("m", "user-data", &json!({})).await;
    let status = eventually("the AgentMachine to say why", async || {
        let machine: AgentMachine = world.get("m").await;
        machine.status.filter(|status| !status.candidates.is_empty())
    })
    .await;
    assert_eq!(status.candidates[0].reason, "OfAnotherNamespace");
    assert!(
        status.candidates[0].message.contains("agents-for-namespaces"),
        "{status:?}"
    );
    let agent = world.get_agent("a").await;
    assert!(
        agent.spec.cluster_deployment_name.is_none()
            && agent.spec.ignition_endpoint_token_reference.is_none()
    );

    world.infra_env(Some(&format!("somebody, {NAMESPACE}"))).await;
    world.await_taken("m").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_agents_of_the_hosted_clusters_namespace_are_taken_or_named() {
    let world = World::start().await;
    world.namespace("others").await;
    world.agent("a", &json!({"namespace": "others"})).await;
    world.agent("b", &json!({"approved": false})).await;
    world.bootstrap("user-data", &world::pointer()).await;
    world.hosted_cluster("hc").await;
    world.control_plane("hc").await;
    world.endpoint("hc").await;
    world.machine_of("hc", "m", "user-data", &json!({})).await;
    let status = eventually("the reasons", async || {
        let machine: AgentMachine = world.get("m").await;
        machine.status.filter(|status| !status.candidates.is_empty())
    })
    .await;
    let names: Vec<_> = status
        .candidates
        .iter()
        .map(|one| (one.namespace.as_str(), one.name.as_str()))
        .collect();
    assert_eq!(names, [(AGENTS, "b")]);
    let reserved = status
        .conditions
        .iter()
        .find(|one| one.type_ == "AgentReserved")
        .unwrap();
    assert!(
        reserved.message.contains("in the namespace hardware"),
        "{}",
        reserved.message
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sick_agent_is_last_and_one_of_another_architecture_is_not_taken() {
    let world = World::start().await;
    for name in ["a", "b", "c", "d", "e"] {
        world.agent(name, &json!({})).await;
    }
    let past = json!({"count": 1, "message": "it did not come up", "untilTime": "2020-01-01T00:00:00Z"});
    world.agent_past("a", "x86_64", &past).await;
    let present = json!({"count": 2, "message": "it did not come up", "untilTime": "2120-01-01T00:00:00Z"});
    world.agent_past("b", "x86_64", &present).await;
    let quarantined = json!({"count": 3, "message": "it did not come up", "quarantined": true});
    world.agent_past("c", "x86_64", &quarantined).await;
    world.agent_past("d", "aarch64", &json!(null)).await;
    world.agent_past("e", "x86_64", &json!(null)).await;
    world.bootstrap("user-data", &world::pointer()).await;
    let wish = json!({"architecture": "amd64"});
    for (machine, agent) in [("m1", "e"), ("m2", "a")] {
        world.machine(machine, "user-data", &wish).await;
        if machine == "m1" {
            world.cluster("one").await;
        }
        let taken = world.await_taken(machine).await.status.unwrap();
        assert_eq!(taken.agent_ref.unwrap().name, agent);
    }
    world.machine("m3", "user-data", &wish).await;
    let waiting = eventually("m3 to say why it waits", async || {
        let machine: AgentMachine = world.get("m3").await;
        machine.status.filter(|status| status.candidates.len() == 5)
    })
    .await;
    let reasons: BTreeSet<(&str, &str)> = waiting
        .candidates
        .iter()
        .map(|one| (one.name.as_str(), one.reason.as_str()))
        .collect();
    let wanted = [
        ("a", "TakenBy"),
        ("b", "FailedBefore"),
        ("c", "Quarantined"),
        ("d", "OfAnotherArchitecture"),
        ("e", "TakenBy"),
    ];
    assert_eq!(reasons, BTreeSet::from(wanted));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_whose_agent_does_not_wake_gives_it_back_and_takes_the_next_one() {
    let world = World::start().await;
    for name in ["a", "b"] {
        world.agent(name, &json!({})).await;
        world.agent_sleep(name, "Asleep").await;
    }
    world.bootstrap("user-data", &world::pointer()).await;
    world.cluster("one").await;
    world.machine("m", "user-data", &json!({})).await;
    let taken = world.await_taken("m").await.status.unwrap();
    assert_eq!(taken.agent_ref.unwrap().name, "a");
    world.agent_sleep("a", "Waking").await;
    let why = eventually("the wait to be shown", async || {
        let machine: AgentMachine = world.get("m").await;
        let status = machine.status?;
        let is_shown = condition(&status.conditions, "Installed") == ("False", "HostWaking");
        let installed = status.conditions.into_iter().find(|one| one.type_ == "Installed");
        let why = installed?.message;
        // Before, the same was shown of the host that was still asleep.
        (is_shown && why.contains("a is Waking")).then_some(why)
    })
    .await;
    assert!(why.contains("quarantine"), "{why}");
    let failures = json!({"count": 1, "message": "it did not wake", "quarantined": true});
    world.agent_past("a", "x86_64", &failures).await;
    world.agent_sleep("a", "DidNotWake").await;
    world
        .agent_status("a", &json!({"Connected": "False"}), "disconnected")
        .await;
    let next = eventually("another Agent to be taken", async || {
        let machine: AgentMachine = world.get("m").await;
        let agent = machine.status.as_ref()?.agent_ref.as_ref()?.name.clone();
        (agent == "b").then_some(machine)
    })
    .await;
    assert!(next.spec.provider_id.is_some_and(|id| id.ends_with("b")));
    let released = world.get_agent("a").await;
    assert!(!released.labels().contains_key("agentMachineRef"));
    assert!(released.spec.cluster_deployment_name.is_none());
}
