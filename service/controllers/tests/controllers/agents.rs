//! The bridge on a built-in Kubernetes API in this process: hosts become Agents, edits of Agents reach hosts, Events
//! are published.

mod moves;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube::core::WatchEvent;
use kube::{Api, ResourceExt};
use muster_api::fingerprint::Fingerprint;
use muster_api::ids::HostId;
use muster_api::time::Timestamp;
use muster_controllers::bridge::{self, Bridge};
use muster_core::lifecycle::host::{HostEvent, Machine};
use muster_core::record::InfraEnv as Stored;
use muster_core::record::{Cluster, Host, HostState, KubeRef, NodeAgent};
use muster_core::rules::limits::USUAL_SILENCE;
use muster_metal3::Flow;
use muster_operations::hosts::Registration;
use muster_operations::now;
use muster_resources::{Agent, AgentClusterInstall, ClusterDeployment, InfraEnv};
use muster_store::EventQuery;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::backend::{Backend, SOON, eventually};
use crate::plain_bridge::plain_bridge;

const NAMESPACE: &str = "default";

/// A bridge that leads. Dropping this value stops it.
struct World {
    backend: Backend,
    _stop: DropGuard,
}

impl World {
    async fn start() -> Self {
        Self::start_since(now()).await
    }

    /// Starts a service that has received requests since this time. Hosts that have not polled since then are silent after their time.
    async fn start_since(listening_since: Timestamp) -> Self {
        Self::on(Backend::open(listening_since).await)
    }

    fn on(backend: Backend) -> Self {
        let stop = CancellationToken::new();
        let bridge = Bridge {
            metal3: Flow::LiveIso,
            ..plain_bridge(backend.client.clone())
        };
        tokio::spawn(bridge::run(backend.operations.clone(), bridge, stop.clone()));
        Self {
            backend,
            _stop: stop.drop_guard(),
        }
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.backend.client.clone(), NAMESPACE)
    }

    async fn create<K>(&self, object: Value)
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + DeserializeOwned
            + serde::Serialize
            + Clone
            + std::fmt::Debug,
    {
        let object: K = serde_json::from_value(object).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap();
    }

    /// An InfraEnv that the database has.
    async fn infra_env(&self) -> Arc<Stored> {
        let pull_secret = r#"{"auths":{"registry.example.test":{"auth":"dXNlcjpwYXNz"}}}"#;
        self.create::<Secret>(json!({
            "metadata": {"name": "pull-secret"}, "stringData": {".dockerconfigjson": pull_secret},
        }))
        .await;
        self.another_infra_env("hw").await
    }

    /// An InfraEnv in addition to an existing one, with this name.
    async fn another_infra_env(&self, name: &str) -> Arc<Stored> {
        self.create::<InfraEnv>(json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": name}, "spec": {"pullSecretRef": {"name": "pull-secret"}},
        }))
        .await;
        let name = KubeRef::new(NAMESPACE, name);
        eventually("the InfraEnv to be stored", async || {
            self.backend
                .operations
                .infra_envs
                .find_by_kube(&name)
                .await
                .unwrap()
        })
        .await
    }

    async fn register(&self, infra_env: &Stored) -> HostId {
        let id = HostId::random();
        let hosts = &self.backend.operations.hosts;
        hosts
            .register(infra_env.id, id, "v", Machine::default())
            .await
            .unwrap();
        id
    }

    /// A cluster that hosts can be added to.
    async fn cluster(&self, name: &str) -> Arc<Cluster> {
        self.create::<ClusterDeployment>(json!({
            "metadata": {"name": name},
            "spec": {
                "baseDomain": "example.test", "clusterName": name, "installed": true,
                "clusterInstallRef": {
                    "group": "extensions.hive.openshift.io", "kind": "AgentClusterInstall", "name": name, "version": "v1beta1",
                },
                "platform": {"agentBareMetal": {"agentSelector": {}}}, "pullSecretRef": {"name": "pull-secret"},
            },
        }))
        .await;
        self.create::<AgentClusterInstall>(json!({
            "metadata": {"name": name},
            "spec": {
                "clusterDeploymentRef": {"name": name}, "networking": {"userManagedNetworking": true},
                "provisionRequirements": {"controlPlaneAgents": 3},
            },
        }))
        .await;
        let name = KubeRef::new(NAMESPACE, name);
        let found = eventually("the cluster to be stored", async || {
            self.backend
                .operations
                .clusters
                .find_by_kube(&name)
                .await
                .unwrap()
        });
        Arc::new(found.await)
    }

    /// A host after `change`, with its Agent.
    async fn host_as(&self, infra_env: &Stored, change: impl FnOnce(&mut Host)) -> HostId {
        let template = self.register(infra_env).await;
        let mut host = self.host(template).await.unwrap();
        host.id = HostId::random();
        change(&mut host);
        let id = host.id;
        self.backend
            .operations
            .hosts
            .restore(host)
            .await
            .unwrap()
            .unwrap();
        eventually("its Agent", async || {
            let agent = self.agent(id).await?;
            agent.status.is_some().then_some(())
        })
        .await;
        id
    }

    async fn delete_agent(&self, id: HostId) {
        let api = self.api::<Agent>();
        api.delete(&id.to_string(), &DeleteParams::default())
            .await
            .unwrap();
    }

    async fn state(&self, id: HostId) -> Option<String> {
        self.agent(id).await?.status?.debug_info?.state
    }

    /// Returns the note of the Event with this reason about an object of this name.
    async fn event(&self, reason: &str, name: &str) -> String {
        eventually(&format!("the Event {reason} of {name}"), async || {
            let events = self.api::<Event>().list(&ListParams::default()).await.unwrap();
            let found = events.items.into_iter().find(|event| {
                let object = event.regarding.as_ref().and_then(|object| object.name.as_deref());
                event.reason.as_deref() == Some(reason) && object == Some(name)
            });
            found.map(|event| event.note.unwrap_or_default())
        })
        .await
    }

    async fn host(&self, id: HostId) -> Option<Host> {
        let store = self.backend.operations.store();
        let found = store.find_hosts_by_kube(NAMESPACE, id).await.unwrap();
        found.into_iter().map(|(_, host)| host).next()
    }

    async fn agent(&self, id: HostId) -> Option<Agent> {
        self.api().get_opt(&id.to_string()).await.unwrap()
    }

    async fn edit(&self, id: HostId, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let api = self.api::<Agent>();
        api.patch(&id.to_string(), &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
}

fn reason<'a>(agent: &'a Agent, type_: &str) -> Option<&'a str> {
    let status = agent.status.as_ref()?;
    let condition = status.conditions.iter().find(|one| one.type_ == type_)?;
    condition.reason.as_deref()
}

/// The number of writes that the watch shows before the first one of which `is` is true.
async fn writes_before(
    watch: &mut BoxStream<'_, kube::Result<WatchEvent<Agent>>>,
    is: impl Fn(&Agent) -> bool,
) -> usize {
    let counted = async {
        let mut writes = 0;
        while let Some(event) = watch.next().await {
            match event.unwrap() {
                WatchEvent::Added(agent) | WatchEvent::Modified(agent) | WatchEvent::Deleted(agent) => {
                    if is(&agent) {
                        return writes;
                    }
                    writes += 1;
                }
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(error) => panic!("{error:?}"),
            }
        }
        panic!("the watch ended");
    };
    timeout(SOON, counted)
        .await
        .unwrap_or_else(|_| panic!("the watch is awaited"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_becomes_an_agent_whose_edits_reach_it_and_both_go_together() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let mut watch = world
        .api::<Agent>()
        .watch(&WatchParams::default(), "0")
        .await
        .unwrap()
        .boxed();
    let id = world.register(&infra_env).await;
    let agent = eventually("a status", async || {
        let agent = world.agent(id).await?;
        reason(&agent, "Connected").is_some().then_some(agent)
    })
    .await;
    assert_eq!(reason(&agent, "Bound"), Some("Unbound"));
    assert_eq!(
        agent.finalizers(),
        ["agent.agent-install.openshift.io/ai-deprovision"]
    );
    assert_eq!(agent.owner_references().len(), 1);

    // Created, and one status: nothing else is written between them and the edit, which is made when all is quiet.
    sleep(Duration::from_millis(1500)).await;
    world
        .edit(
            id,
            json!({"approved": true, "hostname": "first", "role": "worker"}),
        )
        .await;
    let writes = writes_before(&mut watch, |agent| agent.spec.approved).await;
    assert_eq!(writes, 2, "an Agent without inventory costs two writes");
    eventually("the host to be approved and named", async || {
        let host = world.host(id).await?;
        let named = host.data.requested_hostname.as_deref() == Some("first");
        (host.data.approved && named).then_some(())
    })
    .await;

    world.edit(id, json!({"hostname": "Not_Valid"})).await;
    eventually("the refusal", async || {
        let agent = world.agent(id).await?;
        (reason(&agent, "SpecSynced") == Some("InputError")).then_some(())
    })
    .await;
    world.event("InputError", &id.to_string()).await;

    world
        .backend
        .operations
        .hosts
        .delete(infra_env.id, id)
        .await
        .unwrap();
    eventually("the Agent to go with its host", async || {
        world.agent(id).await.is_none().then_some(())
    })
    .await;
    assert!(
        world
            .backend
            .operations
            .bridge
            .status()
            .to_string()
            .starts_with("ok, leading")
    );
}

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
        .store
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

/// The state when the controllers do not see the deletion, or see it late.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_begins_anew_for_a_host_that_was_deleted_and_registers_again() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let id = world.register(&infra_env).await;
    eventually("the Agent", async || world.agent(id).await).await;
    world
        .edit(id, json!({"approved": true, "hostname": "first"}))
        .await;
    eventually("the approval", async || {
        world.host(id).await.filter(|host| host.data.approved)
    })
    .await;
    let hosts = &world.backend.operations.hosts;
    hosts.delete(infra_env.id, id).await.unwrap();
    hosts
        .register(infra_env.id, id, "v", Machine::default())
        .await
        .unwrap();
    let since = world
        .host(id)
        .await
        .unwrap()
        .data
        .created_at
        .timestamp_micros()
        .to_string();
    let agent = eventually("the Agent of the new host", async || {
        let agent = world.agent(id).await?;
        let shown = agent
            .annotations()
            .get("agent.agent-install.openshift.io/host-since")?;
        (*shown == since).then_some(agent)
    })
    .await;
    assert!(
        !agent.spec.approved && agent.spec.hostname.is_none(),
        "{:?}",
        agent.spec
    );
    let host = world.host(id).await.unwrap();
    assert!(!host.data.approved && host.data.requested_hostname.is_none());
}

/// An edited label has no effect on the host.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_label_of_an_agent_is_put_right_and_its_spec_stays() {
    let world = World::start().await;
    let (own, _) = (world.infra_env().await, world.another_infra_env("other").await);
    let id = world.register(&own).await;
    eventually("the Agent", async || world.agent(id).await).await;
    world.edit(id, json!({"approved": true})).await;
    let labels =
        Patch::Merge(json!({"metadata": {"labels": {"infraenvs.agent-install.openshift.io": "other"}}}));
    let api = world.api::<Agent>();
    api.patch(&id.to_string(), &PatchParams::default(), &labels)
        .await
        .unwrap();
    let agent = eventually("the label", async || {
        let agent = world.agent(id).await?;
        (agent.labels().get("infraenvs.agent-install.openshift.io")? == "hw").then_some(agent)
    })
    .await;
    assert!(agent.spec.approved);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_removed_by_force_is_created_again() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let id = world.register(&infra_env).await;
    let first = eventually("the Agent", async || world.agent(id).await).await;
    let api = world.api::<Agent>();
    let name = id.to_string();
    let unheld = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    // The controller sets its finalizer again, so this may take several attempts.
    let second = eventually("another Agent", async || {
        let params = PatchParams::default();
        let agent = world.agent(id).await?;
        if agent.uid() != first.uid() {
            return Some(agent);
        }
        let _ = api.patch(&name, &params, &unheld).await;
        let _ = api.delete(&name, &Default::default()).await;
        None
    });
    let second = second.await;
    assert_ne!(second.uid(), first.uid());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_off_on_its_way_into_a_cluster_can_be_taken_out_of_it() {
    let world = World::start_since(now() - Duration::from_secs(3600)).await;
    let infra_env = world.infra_env().await;
    let cluster = world.cluster("one").await;
    // The last poll was nearly as long ago as counts as silent.
    let id = world
        .host_as(&infra_env, |host| {
            host.state = HostState::Binding;
            host.cluster_id = Some(cluster.id);
            host.checked_in_at = now() - USUAL_SILENCE + Duration::from_secs(5);
            host.due_at = Some(host.checked_in_at + USUAL_SILENCE);
        })
        .await;
    assert_eq!(world.state(id).await.as_deref(), Some("binding"));
    world.edit(id, json!({"clusterDeploymentName": null})).await;
    let said = eventually("the Agent to say when it is free", async || {
        let conditions = world.agent(id).await?.status?.conditions;
        let synced = conditions.into_iter().find(|one| one.type_ == "SpecSynced")?;
        synced.message.filter(|said| said.contains("binding"))
    })
    .await;
    assert!(said.contains("counts as disconnected"), "{said}");
    eventually("the host to be free", async || {
        // The same as the job for deadlines does.
        let event = HostEvent::DeadlinePassed;
        let hosts = &world.backend.operations.hosts;
        hosts.apply(infra_env.id, id, event).await.unwrap();
        (world.state(id).await.as_deref() == Some("disconnected-unbound")).then_some(())
    })
    .await;
    assert_eq!(world.host(id).await.unwrap().cluster_id, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_node_returns_is_held_until_it_is_back() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let id = world
        .host_as(&infra_env, |host| {
            host.state = HostState::Reclaiming;
            host.data.node_agent = NodeAgent::Installed;
            host.data.status_updated_at = now();
            host.checked_in_at = now();
        })
        .await;
    let first = world.agent(id).await.unwrap().uid();
    world.delete_agent(id).await;
    eventually("the Agent to say that it is held", async || {
        let agent = world.agent(id).await.unwrap();
        (reason(&agent, "Cleanup") == Some("Reclaiming")).then_some(())
    })
    .await;
    assert_eq!(world.state(id).await.as_deref(), Some("reclaiming"));
    // The host boots the discovery image.
    let hosts = &world.backend.operations.hosts;
    hosts
        .register(infra_env.id, id, "v", Machine::default())
        .await
        .unwrap();
    eventually("the Agent to go", async || {
        world.agent(id).await.is_none().then_some(())
    })
    .await;
    assert!(world.host(id).await.is_none());
    hosts
        .register(infra_env.id, id, "v", Machine::default())
        .await
        .unwrap();
    let second = eventually("another Agent", async || world.agent(id).await).await;
    assert_ne!(second.uid(), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_node_cannot_return_goes_with_a_word_about_its_machine() {
    let world = World::start().await;
    let infra_env = world.infra_env().await;
    let cluster = world.cluster("one").await;
    for node_agent in [NodeAgent::Installed, NodeAgent::Absent] {
        let id = world
            .host_as(&infra_env, |host| {
                host.state = HostState::AddedToExistingCluster;
                host.cluster_id = Some(cluster.id);
                host.data.node_agent = node_agent;
                host.data.requested_hostname = Some("worker-1".into());
            })
            .await;
        world.delete_agent(id).await;
        // The service of this test has no image that the node could boot.
        eventually("the Agent to go", async || {
            world.agent(id).await.is_none().then_some(())
        })
        .await;
        let said = world.event("HostLeftBehind", &id.to_string()).await;
        assert!(said.contains("boot it into the discovery image"), "{said}");
        assert!(
            said.contains("the cluster default/one") && said.contains("worker-1"),
            "{said}"
        );
    }
    let said = world.event("HostLeftBehind", "hw").await;
    assert!(said.contains("worker-1"), "{said}");
}
