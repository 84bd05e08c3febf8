//! Hosts and Agents of several InfraEnvs: what approves, claims and moves them.

use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use muster_api::fingerprint::Fingerprint;
use muster_core::lifecycle::host::Machine;
use muster_core::record::{Host, HostState};
use muster_operations::hosts::Registration;
use muster_operations::now;
use muster_resources::{Agent, InfraEnv};
use muster_store::EventQuery;
use serde_json::json;

use super::world::World;
use crate::backend::eventually;

/// The state after an InfraEnv made by REST is adopted when its machine has registered in another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_in_another_infra_env_does_not_go_with_the_agent() {
    let world = World::start().await;
    let (shown, other) = (world.infra_env().await, world.another_infra_env("other").await);
    let id = world.register(&shown).await;
    eventually("the Agent", async || world.agent(id).await).await;
    let mut older = world.host(id).await.unwrap();
    older.infra_env_id = other.id;
    older.data.registered_at -= Duration::from_secs(3600);
    let hosts = &world.backend.operations.hosts;
    hosts.restore(older).await.unwrap().unwrap();

    world.delete_agent(id).await;
    let of_other = eventually("the Agent of the other record", async || {
        let agent = world.agent(id).await?;
        let infra_env = agent.labels().get("infraenvs.agent-install.openshift.io")?;
        (infra_env == "other").then_some(agent)
    });
    of_other.await;
    let store = world.backend.operations.store();
    assert!(store.find_host(shown.id, id).await.unwrap().is_none());
    assert!(store.find_host(other.id, id).await.unwrap().is_some());
}

/// A machine with parts that are distinguished by `number`.
fn machine(number: u8, key: &str) -> Machine {
    let fingerprint = Fingerprint {
        system_serial: format!("S{number}"),
        macs: vec![format!("ec:f4:bb:00:00:{number:02x}")],
        ..Fingerprint::default()
    };
    Machine {
        fingerprint: Some(fingerprint),
        public_key: key.to_owned(),
    }
}

type Change<'a> = Box<dyn Fn(&mut Host) + 'a>;

/// A client with the token of another InfraEnv and a host's id takes neither record nor Agent, whatever parts it reports.
#[tokio::test(flavor = "multi_thread")]
async fn a_registration_in_another_infra_env_takes_nothing_from_a_host_that_stays() {
    let world = World::start_since(now() - Duration::from_secs(3600)).await;
    let (own, other) = (world.infra_env().await, world.another_infra_env("other").await);
    let cluster = world.cluster("one").await;
    let silent = now() - Duration::from_secs(1800);
    let hosts = &world.backend.operations.hosts;
    let changes: [(&str, Change<'_>); 4] = [
        ("heard", Box::new(|host| host.checked_in_at = now())),
        ("has a key", Box::new(|host| host.data.public_key = "aa".into())),
        ("is bound", Box::new(|host| host.cluster_id = Some(cluster.id))),
        (
            "is a node",
            Box::new(|host| {
                host.cluster_id = Some(cluster.id);
                host.state = HostState::AddedToExistingCluster;
            }),
        ),
    ];
    for (what, change) in changes {
        let id = world
            .host_as(&own, |host| {
                host.checked_in_at = silent;
                host.data.fingerprint = machine(1, "").fingerprint;
                change(host);
                if host.cluster_id.is_some() && host.state == HostState::DiscoveringUnbound {
                    host.state = HostState::Discovering;
                }
            })
            .await;
        eventually("the Agent", async || world.agent(id).await).await;
        world.edit(id, json!({"approved": true})).await;
        let approved = eventually(what, async || {
            world.host(id).await.filter(|host| host.data.approved)
        })
        .await;

        // An agent of another implementation insists on the id, and tries again.
        let refused = hosts.register(other.id, id, "v", Machine::default()).await;
        let refused = refused.expect_err(what);
        assert!(
            refused.is_temporary() && refused.to_string().contains("hw"),
            "{what}: {refused}"
        );
        // Another machine, and one that has the same parts, or reports them: each becomes a host of its own, the same each time.
        let mut beside = Vec::new();
        for number in [2, 1, 2] {
            let registered = hosts.register(other.id, id, "v", machine(number, "bb")).await;
            let (Registration::New(host) | Registration::Again(host)) = registered.expect(what);
            assert_ne!(host.id, id, "{what}");
            assert!(!host.data.approved && host.cluster_id.is_none(), "{what}");
            beside.push(host.id);
        }
        assert!(beside[0] == beside[2] && beside[0] != beside[1], "{what}");
        let stranger = eventually("an Agent of its own", async || world.agent(beside[0]).await).await;
        assert!(!stranger.spec.approved, "{what}");
        assert_eq!(stranger.labels()["infraenvs.agent-install.openshift.io"], "other");

        let kept = world.host(id).await.expect(what);
        assert_eq!((kept.infra_env_id, kept.data.approved), (own.id, true), "{what}");
        assert_eq!(kept.state, approved.state, "{what}");
        assert_eq!(kept.data.public_key, approved.data.public_key, "{what}");
        assert_eq!(
            kept.data.findings.len(),
            2,
            "each is told of once: {:?}",
            kept.data.findings
        );
        let agent = world.agent(id).await.expect(what);
        assert!(agent.spec.approved, "{what}");
        assert_eq!(agent.labels()["infraenvs.agent-install.openshift.io"], "hw");
    }
    let events = world
        .backend
        .operations
        .store()
        .list_events(&EventQuery::default())
        .await
        .unwrap();
    let told = events
        .events
        .iter()
        .filter(|event| event.name == "host_id_in_use");
    let told: Vec<_> = told.filter_map(|event| event.infra_env_id).collect();
    assert!(told.contains(&own.id) && told.contains(&other.id), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_infra_env_that_approves_by_itself_approves_its_own_hosts_alone() {
    let world = World::start().await;
    let (asked, other) = (world.infra_env().await, world.another_infra_env("other").await);
    let approval = Patch::Merge(json!({"spec": {"agentApproval": {"autoApprove": true}}}));
    let infra_envs = world.api::<InfraEnv>();
    infra_envs
        .patch("hw", &PatchParams::default(), &approval)
        .await
        .unwrap();
    let (approved, waiting) = (world.register(&asked).await, world.register(&other).await);
    eventually("the approval", async || {
        world.host(approved).await.filter(|host| host.data.approved)
    })
    .await;
    let agent = eventually("the Agent of the other", async || {
        world.agent(waiting).await.filter(|agent| agent.status.is_some())
    })
    .await;
    assert!(!agent.spec.approved && !world.host(waiting).await.unwrap().data.approved);
}

/// A host that waits in no cluster, has no key and is silent is left: its Agent begins anew, as upstream's does.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_begins_anew_in_the_infra_env_that_its_machine_was_moved_to() {
    let world = World::start_since(now() - Duration::from_secs(3600)).await;
    let (from, to) = (world.infra_env().await, world.another_infra_env("other").await);
    let id = world
        .host_as(&from, |host| {
            host.checked_in_at = now() - Duration::from_secs(1800)
        })
        .await;
    eventually("the Agent", async || world.agent(id).await).await;
    let labels = Patch::Merge(json!({"metadata": {"labels": {"pool": "gold"}}}));
    let api = world.api::<Agent>();
    api.patch(&id.to_string(), &PatchParams::default(), &labels)
        .await
        .unwrap();
    world
        .edit(
            id,
            json!({"approved": true, "hostname": "first", "role": "worker"}),
        )
        .await;
    eventually("the approval", async || {
        world.host(id).await.filter(|host| host.data.approved)
    })
    .await;

    let hosts = &world.backend.operations.hosts;
    let moved = hosts.register(to.id, id, "v", Machine::default()).await.unwrap();
    assert!(matches!(moved, Registration::New(_)), "{moved:?}");
    let agent = eventually("the Agent to follow", async || {
        let agent = world.agent(id).await?;
        (agent.labels().get("infraenvs.agent-install.openshift.io")? == "other").then_some(agent)
    })
    .await;
    assert!(!agent.spec.approved, "{:?}", agent.spec);
    assert_eq!((agent.spec.hostname, agent.spec.role.as_str()), (None, ""));
    assert_eq!(agent.metadata.labels.unwrap().get("pool"), None);
    assert_eq!(agent.metadata.owner_references.unwrap()[0].name, "other");
    let host = world.host(id).await.unwrap();
    assert_eq!((host.infra_env_id, host.data.approved), (to.id, false));
    assert_eq!(hosts.find(from.id, id).await.unwrap(), None);
}
