//! The bridge on a built-in Kubernetes API in this process: hosts become Agents, edits of Agents reach hosts, Events
//! are published.
#![allow(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube::{Api, Client, ResourceExt};
use muster_api::ids::HostId;
use muster_controllers::bridge::{self, Bridge};
use muster_core::record::Host;
use muster_core::record::InfraEnv as Stored;
use muster_core::record::KubeRef;
use muster_core::rules::requirements::Requirements;
use muster_core::rules::stages::StageLimits;
use muster_kube_api::{Database, KubeApi, SqlStorage};
use muster_operations::auth::{Auth, Keys};
use muster_operations::bridge::BridgeState;
use muster_operations::hosts::HostSettings;
use muster_operations::live_image::LiveImages;
use muster_operations::urls::Urls;
use muster_operations::{OperationSettings, Operations, now};
use muster_resources::{Agent, InfraEnv, crds};
use muster_store::Store;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

const NAMESPACE: &str = "default";
const SOON: Duration = Duration::from_secs(60);

/// A bridge that leads. Dropping it stops it.
struct World {
    client: Client,
    operations: Arc<Operations>,
    _stop: DropGuard,
    _folder: TempDir,
}

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/muster.db", folder.path().display());
        let store = Store::open(&url).await.unwrap();
        let (readers, writers) = store.pools();
        let definitions = crds::own().into_iter().chain(crds::foreign());
        let definitions = definitions.map(|one| serde_json::to_value(one).unwrap());
        let storage = SqlStorage::new(Database::Sqlite, readers, writers);
        let api = KubeApi::open(storage, definitions.collect()).await.unwrap();
        let client = Client::new(api.service(), NAMESPACE);
        let keys = Keys::from_pem(&Keys::generate()).unwrap();
        let settings = OperationSettings {
            hosts: HostSettings {
                requirements: Requirements::default(),
                agent_version: "muster-0".into(),
                agent_image: None,
                listening_since: now(),
                installer_image: None,
                controller_image: None,
                node_agent: true,
                stages: StageLimits::default(),
            },
            urls: Urls {
                public: "http://muster.example.test".into(),
                boot: "http://muster.example.test:8091".into(),
            },
            service_ca: String::new(),
            openshift_versions: vec!["4.20".into()],
            os_images: Vec::new(),
        };
        let operations = Arc::new(Operations::new(
            store,
            Auth::new(false, keys, None),
            LiveImages::new([]),
            BridgeState::new(true, true),
            settings,
        ));
        let stop = CancellationToken::new();
        let bridge = Bridge {
            client: client.clone(),
            lease: None,
            capi_provider: false,
            node_pools: false,
        };
        tokio::spawn(bridge::run(operations.clone(), bridge, stop.clone()));
        Self {
            client,
            operations,
            _stop: stop.drop_guard(),
            _folder: folder,
        }
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
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
        self.create::<InfraEnv>(json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": "hw"}, "spec": {"pullSecretRef": {"name": "pull-secret"}},
        }))
        .await;
        let name = KubeRef::new(NAMESPACE, "hw");
        eventually("the InfraEnv to be stored", async || {
            self.operations.infra_envs.find_by_kube(&name).await.unwrap()
        })
        .await
    }

    async fn register(&self, infra_env: &Stored) -> HostId {
        let id = HostId::random();
        let hosts = &self.operations.hosts;
        hosts.register(infra_env.id, id, "v", None).await.unwrap();
        id
    }

    async fn host(&self, id: HostId) -> Option<Host> {
        self.operations
            .store
            .find_host_by_kube(NAMESPACE, id)
            .await
            .unwrap()
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

async fn eventually<T>(what: &str, mut found: impl AsyncFnMut() -> Option<T>) -> T {
    let search = async {
        loop {
            if let Some(found) = found().await {
                return found;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, search)
        .await
        .unwrap_or_else(|_| panic!("{what} is awaited"))
}

fn reason<'a>(agent: &'a Agent, type_: &str) -> Option<&'a str> {
    let status = agent.status.as_ref()?;
    let condition = status.conditions.iter().find(|one| one.type_ == type_)?;
    condition.reason.as_deref()
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

    // Created, and one status: nothing else was written by the time that all is quiet.
    sleep(Duration::from_millis(1500)).await;
    let mut writes = 0;
    while let Ok(Some(event)) = timeout(Duration::from_millis(200), watch.next()).await {
        event.unwrap();
        writes += 1;
    }
    assert_eq!(writes, 2, "an Agent without inventory costs two writes");

    world
        .edit(
            id,
            json!({"approved": true, "hostname": "first", "role": "worker"}),
        )
        .await;
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
    eventually("its Event", async || {
        let events = world.api::<Event>().list(&ListParams::default()).await.unwrap();
        let mut events = events.items.into_iter();
        events.find(|event| {
            let object = event.regarding.as_ref().and_then(|object| object.name.as_deref());
            event.reason.as_deref() == Some("InputError") && object == Some(&id.to_string())
        })
    })
    .await;

    world.operations.hosts.delete(infra_env.id, id).await.unwrap();
    eventually("the Agent to go with its host", async || {
        world.agent(id).await.is_none().then_some(())
    })
    .await;
    assert!(
        world
            .operations
            .bridge
            .status()
            .to_string()
            .starts_with("ok, leading")
    );
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
