//! A bridge that leads, with what its tests do: InfraEnvs, clusters, hosts and their Agents.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use muster_api::ids::HostId;
use muster_api::time::Timestamp;
use muster_controllers::bridge::{self, Bridge};
use muster_core::lifecycle::host::Machine;
use muster_core::record::InfraEnv as Stored;
use muster_core::record::{Cluster, Host, KubeRef};
use muster_metal3::Flow;
use muster_operations::now;
use muster_resources::{Agent, AgentClusterInstall, ClusterDeployment, InfraEnv};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::backend::{Backend, eventually};
use crate::plain_bridge::plain_bridge;

pub const NAMESPACE: &str = "default";

/// A bridge that leads. Dropping this value stops it.
pub struct World {
    pub backend: Backend,
    bridge: JoinHandle<()>,
    stop: DropGuard,
}

impl World {
    pub async fn start() -> Self {
        Self::start_since(now()).await
    }

    /// Starts a service that has received requests since this time. Hosts that have not polled since then are silent after their time.
    pub async fn start_since(listening_since: Timestamp) -> Self {
        Self::on(Backend::open(listening_since).await)
    }

    pub fn on(backend: Backend) -> Self {
        let stop = CancellationToken::new();
        let bridge = Bridge {
            metal3: Flow::LiveIso,
            ..plain_bridge(backend.client.clone())
        };
        let bridge = tokio::spawn(bridge::run(backend.operations.clone(), bridge, stop.clone()));
        Self {
            backend,
            bridge,
            stop: stop.drop_guard(),
        }
    }

    /// Stops the bridge, and returns its backend when it has ended.
    pub async fn stop(self) -> Backend {
        drop(self.stop);
        self.bridge.await.unwrap();
        self.backend
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.backend.client.clone(), NAMESPACE)
    }

    pub async fn create<K>(&self, object: Value)
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
    pub async fn infra_env(&self) -> Arc<Stored> {
        let pull_secret = r#"{"auths":{"registry.example.test":{"auth":"dXNlcjpwYXNz"}}}"#;
        self.create::<Secret>(json!({
            "metadata": {"name": "pull-secret"}, "stringData": {".dockerconfigjson": pull_secret},
        }))
        .await;
        self.another_infra_env("hw").await
    }

    /// An InfraEnv in addition to an existing one, with this name.
    pub async fn another_infra_env(&self, name: &str) -> Arc<Stored> {
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

    pub async fn register(&self, infra_env: &Stored) -> HostId {
        let id = HostId::random();
        let hosts = &self.backend.operations.hosts;
        hosts
            .register(infra_env.id, id, "v", Machine::default())
            .await
            .unwrap();
        id
    }

    /// A cluster that hosts can be added to.
    pub async fn cluster(&self, name: &str) -> Arc<Cluster> {
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
    pub async fn host_as(&self, infra_env: &Stored, change: impl FnOnce(&mut Host)) -> HostId {
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

    pub async fn delete_agent(&self, id: HostId) {
        let api = self.api::<Agent>();
        api.delete(&id.to_string(), &DeleteParams::default())
            .await
            .unwrap();
    }

    pub async fn state(&self, id: HostId) -> Option<String> {
        self.agent(id).await?.status?.debug_info?.state
    }

    /// Returns the note of the Event with this reason about an object of this name.
    pub async fn event(&self, reason: &str, name: &str) -> String {
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

    pub async fn host(&self, id: HostId) -> Option<Host> {
        let store = self.backend.operations.store();
        let found = store.find_hosts_by_kube(NAMESPACE, id).await.unwrap();
        found.into_iter().map(|(_, host)| host).next()
    }

    pub async fn agent(&self, id: HostId) -> Option<Agent> {
        self.api().get_opt(&id.to_string()).await.unwrap()
    }

    pub async fn edit(&self, id: HostId, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let api = self.api::<Agent>();
        api.patch(&id.to_string(), &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
}

pub fn reason<'a>(agent: &'a Agent, type_: &str) -> Option<&'a str> {
    let status = agent.status.as_ref()?;
    let condition = status.conditions.iter().find(|one| one.type_ == type_)?;
    condition.reason.as_deref()
}
