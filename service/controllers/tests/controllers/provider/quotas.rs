//! The shares of consumers in the Agents.

use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use muster_resources::{AgentMachine, AgentMachineStatus, AgentQuotaStatus};
use serde_json::json;

use super::world::{self, NAMESPACE, World, condition};
use crate::backend::eventually;

/// The status of a quota, once it is as `is_it` wants it.
async fn await_quota(
    world: &World,
    name: &str,
    is_it: impl Fn(&AgentQuotaStatus) -> bool,
) -> AgentQuotaStatus {
    eventually(&format!("the status of the quota {name}"), async || {
        let status = world.quotas().get(name).await.unwrap().status;
        status.filter(|status| is_it(status))
    })
    .await
}

/// The status of an AgentMachine that waits, once an Agent is not taken for this reason.
async fn await_reason(world: &World, name: &str, reason: &str) -> AgentMachineStatus {
    eventually(&format!("{name} to wait for {reason}"), async || {
        let machine: AgentMachine = world.get(name).await;
        let status = machine.status?;
        let is_it = status.candidates.iter().any(|one| one.reason == reason);
        (is_it && status.agent_ref.is_none()).then_some(status)
    })
    .await
}

/// Names of the Agents that were taken.
async fn taken(world: &World) -> Vec<String> {
    let agents = world.agents().list(&ListParams::default()).await.unwrap();
    let taken = agents
        .items
        .into_iter()
        .filter(|one| one.labels().contains_key("agentMachineRef"));
    taken.map(|one| one.name_any()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_at_once_take_no_more_agents_than_the_limit_of_their_namespace() {
    const MACHINES: usize = 8;
    let world = World::start().await;
    let limit = json!({"consumer": {"namespace": NAMESPACE}, "limit": 2});
    world.quota("one", limit).await.unwrap();
    await_quota(&world, "one", |status| status.used == Some(0)).await;
    for n in 0..MACHINES {
        world.agent(&format!("a{n}"), &json!({})).await;
    }
    world.bootstrap("user-data", &world::pointer()).await;
    for n in 0..MACHINES {
        world.machine(&format!("m{n}"), "user-data", &json!({})).await;
    }
    world.cluster("one").await;
    let at_the_limit = |status: &AgentQuotaStatus| (status.used, status.waiting) == (Some(2), Some(6));
    let status = eventually("the limit to be reached", async || {
        assert!(taken(&world).await.len() <= 2);
        let status = world.quotas().get("one").await.unwrap().status;
        status.filter(at_the_limit)
    })
    .await;
    assert_eq!(condition(&status.conditions, "Ready"), ("True", "InForce"));
    assert_eq!(status.consumer_namespace.as_deref(), Some(NAMESPACE));
    let mut waiting = Vec::new();
    for n in 0..MACHINES {
        let machine: AgentMachine = world.get(&format!("m{n}")).await;
        if machine.status.is_none_or(|status| status.agent_ref.is_none()) {
            waiting.push(format!("m{n}"));
        }
    }
    assert_eq!(waiting.len(), 6);
    let shown = await_reason(&world, &waiting[0], "QuotaExceeded").await;
    let why = shown
        .candidates
        .iter()
        .find(|one| one.reason == "QuotaExceeded")
        .unwrap();
    assert!(
        why.message
            .contains("the AgentQuota one allows this namespace 2 Agents"),
        "{why:?}"
    );

    let more = Patch::Merge(json!({"spec": {"limit": 3}}));
    let params = PatchParams::default();
    world.quotas().patch("one", &params, &more).await.unwrap();
    await_quota(&world, "one", |status| {
        (status.used, status.waiting) == (Some(3), Some(5))
    })
    .await;
    assert_eq!(taken(&world).await.len(), 3);
    // A limit below the use takes nothing away.
    let less = Patch::Merge(json!({"spec": {"limit": 1}}));
    world.quotas().patch("one", &params, &less).await.unwrap();
    let above =
        |status: &AgentQuotaStatus| condition(&status.conditions, "AboveLimit") == ("True", "UseAboveLimit");
    let status = await_quota(&world, "one", above).await;
    assert_eq!(status.used, Some(3));
    assert_eq!(taken(&world).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_reserved_for_others_is_kept_until_the_quota_goes() {
    let world = World::start().await;
    world
        .infra_env(Some(&format!("{NAMESPACE}, clusters-gold")))
        .await;
    let reserved =
        json!({"consumer": {"hostedCluster": {"namespace": "clusters", "name": "gold"}}, "reserved": 1});
    world.quota("gold", reserved).await.unwrap();
    world.agent("a", &json!({})).await;
    let status = await_quota(&world, "gold", |status| status.held == Some(1)).await;
    assert_eq!(status.consumer_namespace.as_deref(), Some("clusters-gold"));
    world.cluster("one").await;
    world.bootstrap("user-data", &world::pointer()).await;
    world.machine("m", "user-data", &json!({})).await;
    let status = await_reason(&world, "m", "Reserved").await;
    assert!(status.candidates[0].message.ends_with("gold (1)"), "{status:?}");
    assert_eq!(
        condition(&status.conditions, "AgentReserved"),
        ("False", "NoSuitableAgents")
    );
    let params = DeleteParams::default();
    world.quotas().delete("gold", &params).await.unwrap();
    world.await_taken("m").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_wait_in_their_order_and_say_behind_whom() {
    let world = World::start().await;
    let without_limit = json!({"consumer": {"namespace": NAMESPACE}});
    world.quota("one", without_limit).await.unwrap();
    await_quota(&world, "one", |status| status.used == Some(0)).await;
    world.cluster("one").await;
    world.bootstrap("user-data", &world::pointer()).await;
    for name in ["m1", "m2"] {
        world.machine(name, "user-data", &json!({})).await;
    }
    await_quota(&world, "one", |status| status.waiting == Some(2)).await;
    // It becomes fit when it is there.
    world.agent("a", &json!({})).await;
    world.await_taken("m1").await;
    await_reason(&world, "m2", "TakenBy").await;
    // What others are called is not shown, and that they have it is.
    world
        .agent(
            "b",
            &json!({"taken": ["hidden-guest", "clusters-two"], "cluster": "x"}),
        )
        .await;
    let status = eventually("the Agent of others to be listed", async || {
        let machine: AgentMachine = world.get("m2").await;
        machine.status.filter(|status| status.candidates.len() == 2)
    })
    .await;
    let text = format!("{:?} {:?}", status.candidates, status.conditions);
    assert!(
        text.contains("an AgentMachine of another namespace") && !text.contains("hidden-guest"),
        "{text}"
    );
    world.agent("c", &json!({})).await;
    world.await_taken("m2").await;
    await_quota(&world, "one", |status| {
        (status.used, status.waiting) == (Some(2), Some(0))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_that_contradict_each_other_show_it_and_those_that_contradict_themselves_are_refused() {
    let world = World::start().await;
    for wrong in [
        json!({"consumer": {"namespace": "a"}, "limit": 1, "reserved": 2}),
        json!({"consumer": {"namespace": "a"}, "limit": -1}),
        json!({"consumer": {"namespace": "a"}, "reserved": -1}),
        json!({"consumer": {}}),
        json!({"consumer": {"namespace": "a", "hostedCluster": {"namespace": "a", "name": "b"}}}),
    ] {
        let refused = world.quota("wrong", wrong.clone()).await;
        let Err(kube::Error::Api(status)) = refused else {
            panic!("{wrong} was taken")
        };
        assert_eq!(status.code, 422, "{wrong}: {status:?}");
    }
    world.infra_env(Some("a, b")).await;
    for agent in ["x", "y"] {
        world.agent(agent, &json!({})).await;
    }
    // The names keep the order of those that are made within one second.
    let of = |consumer: &str| json!({"consumer": {"namespace": consumer}, "reserved": 2});
    for (name, consumer) in [("q1", "a"), ("q2", "b"), ("q3", "a")] {
        world.quota(name, of(consumer)).await.unwrap();
    }
    let is = |type_: &'static str, wanted: (&'static str, &'static str)| {
        move |status: &AgentQuotaStatus| condition(&status.conditions, type_) == wanted
    };
    let first = await_quota(&world, "q1", |status| status.held == Some(2)).await;
    assert_eq!(condition(&first.conditions, "Ready"), ("True", "InForce"));
    await_quota(&world, "q2", is("Overcommitted", ("True", "ReservedAbovePool"))).await;
    let duplicate = await_quota(&world, "q3", is("Duplicate", ("True", "OlderQuotaCounts"))).await;
    assert_eq!(condition(&duplicate.conditions, "Stalled").0, "True");
    world
        .quotas()
        .delete("q1", &DeleteParams::default())
        .await
        .unwrap();
    // The younger one for the consumer counts now, after that of the other.
    await_quota(&world, "q2", is("Ready", ("True", "InForce"))).await;
    await_quota(&world, "q3", is("Overcommitted", ("True", "ReservedAbovePool"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_for_one_namespace_heeds_the_quotas_of_the_agents_and_writes_its_own_alone() {
    let world = World::start_alone().await;
    let of = |consumer: &str, limit: u32| json!({"consumer": {"namespace": consumer}, "limit": limit});
    world.quota("others", of("clusters-two", 5)).await.unwrap();
    world.quota("own", of(NAMESPACE, 0)).await.unwrap();
    await_quota(&world, "own", |status| status.used == Some(0)).await;
    world.infra_env(None).await;
    world.hosted_cluster("one").await;
    world.control_plane("one").await;
    world.endpoint("one").await;
    world.bootstrap("data", &world::pointer()).await;
    world.agent("a", &json!({})).await;
    world.machine("m", "data", &json!({})).await;
    await_reason(&world, "m", "QuotaExceeded").await;
    await_quota(&world, "own", |status| status.waiting == Some(1)).await;
    let more = Patch::Merge(json!({"spec": {"limit": 1}}));
    let params = PatchParams::default();
    world.quotas().patch("own", &params, &more).await.unwrap();
    world.await_taken("m").await;
    await_quota(&world, "own", |status| {
        (status.used, status.waiting) == (Some(1), Some(0))
    })
    .await;
    let others = world.quotas().get("others").await.unwrap();
    assert_eq!(
        others.status, None,
        "who serves that namespace counts its machines"
    );
}
