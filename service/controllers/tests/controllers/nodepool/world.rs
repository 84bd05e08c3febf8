//! Running controllers of HostedClusters and NodePools, in a simulated environment.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum_server::tls_rustls::RustlsConfig;
use k8s_openapi::api::core::v1::{Namespace, Node, Secret};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use muster_cluster_api::nodepool;
use muster_controller::events::{Events, publish};
use muster_kube_api::{Authority, Credentials, Kind, KubeApi, SqlStorage, kubeconfig};
use muster_operations::now;
use muster_resources::cluster_api::Machine;
use muster_resources::hypershift::{HostedCluster, NodePool};
use muster_resources::{AgentCluster, AgentMachine};
use muster_store::Store;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::pods::Pods;
use crate::backend::{Backend, eventually};

const RENDERED: &str = include_str!("../../../../../tests/data/hcp-create-cluster-agent.yaml");
pub const USERS: &str = "clusters";
pub const MADE: &str = "clusters-vcluster2";
const HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/agentmachine";
const FINALIZER: &str = "agentmachine.agent-install.openshift.io/deprovision";
/// Annotation of AgentMachines: what happens in place of a good installation when their simulated host is to be installed again. `ignored`:
/// the request is not known; `refused`; `failed`; `reports`: the former kubelet goes on; `installs`: the installation does not end; `joined`:
/// it ends with whatever Node has the host's name.
pub const AGAIN: &str = "example.test/again";
pub const REINSTALL: &str = "capi-provider.agent-install.openshift.io/reinstall";
/// A finalizer of the tests.
const HELD: &str = "example.test/held";

/// Running controllers and a workload cluster; the tests simulate the rest.
pub struct World {
    pub client: Client,
    pub workload: Client,
    /// An administrator's kubeconfig of the workload cluster.
    pub kubeconfig: String,
    /// The pods of the workload cluster.
    pub pods: Pods,
    controllers: Option<Controllers>,
    _running: Vec<DropGuard>,
    _workload: KubeApi,
    _folder: TempDir,
    backend: Backend,
}

/// The controllers, until it is dropped.
struct Controllers {
    stop: DropGuard,
    task: JoinHandle<()>,
}

impl Controllers {
    fn start(backend: &Backend) -> Self {
        let (events, queued) = Events::new();
        let context = backend.context(events).of_cluster_api();
        let stop = CancellationToken::new();
        tokio::spawn(publish(backend.client.clone(), queued));
        Self {
            task: tokio::spawn(nodepool::run(context, stop.clone())),
            stop: stop.drop_guard(),
        }
    }
}

impl World {
    pub async fn start() -> Self {
        let backend = Backend::open(now()).await;
        let folder = tempfile::tempdir().unwrap();
        let workload = workload(&folder).await;
        let pods = Pods::default();
        let (kubeconfig, listening) = listen(pods.before(&workload));
        let client = backend.client.clone();
        let stop = CancellationToken::new();
        let world = Self {
            workload: Client::new(workload.service(), "default"),
            client,
            kubeconfig,
            pods,
            controllers: Some(Controllers::start(&backend)),
            _running: vec![stop.clone().drop_guard(), listening.drop_guard()],
            _workload: workload,
            _folder: folder,
            backend,
        };
        tokio::spawn(play(world.client.clone(), world.workload.clone(), stop));
        world
    }

    /// Ends the controllers, and starts others, which have nothing but what the APIs hold.
    pub async fn restart(&mut self) {
        if let Some(Controllers { stop, task }) = self.controllers.take() {
            drop(stop);
            task.await.unwrap();
        }
        self.controllers = Some(Controllers::start(&self.backend));
    }

    pub fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Applies what `hcp create cluster agent --render` prints, without the Secrets that it omits, and makes the namespace of Agents.
    pub async fn apply_rendered(&self) {
        let params = PatchParams::apply("kubectl").force();
        let namespaces = Api::<Namespace>::all(self.client.clone());
        for name in [USERS, "hardware"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace"});
            namespaces
                .patch(name, &params, &Patch::Apply(namespace))
                .await
                .unwrap();
        }
        for document in RENDERED.split("\n---\n") {
            let Ok(mut object) = serde_saphyr::from_str::<Value>(document) else {
                continue;
            };
            object["metadata"]
                .as_object_mut()
                .map(|metadata| metadata.remove("creationTimestamp"));
            let patch = Patch::Apply(object.clone());
            match object["kind"].as_str() {
                Some("HostedCluster") => {
                    self.api::<HostedCluster>(USERS)
                        .patch("vcluster2", &params, &patch)
                        .await
                        .map(drop)
                        .unwrap();
                }
                Some("NodePool") => {
                    self.api::<NodePool>(USERS)
                        .patch("vcluster2", &params, &patch)
                        .await
                        .map(drop)
                        .unwrap();
                }
                _ => {}
            }
        }
    }

    async fn secret(&self, name: &str, key: &str, value: &str) {
        let params = PatchParams::apply("kubectl").force();
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {key: value}});
        self.api::<Secret>(USERS)
            .patch(name, &params, &Patch::Apply(secret))
            .await
            .unwrap();
    }

    pub async fn secrets(&self) {
        self.secret("vcluster2-pull-secret", ".dockerconfigjson", r#"{"auths":{}}"#)
            .await;
        self.secret("vcluster2-admin-kubeconfig", "kubeconfig", &self.kubeconfig)
            .await;
        self.user_data("vcluster2", "one").await;
    }

    pub async fn user_data(&self, pool: &str, content: &str) {
        let config = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": format!("/{content}")}]}});
        self.secret(&format!("user-data-{pool}"), "value", &config.to_string())
            .await;
    }

    pub async fn scale(&self, pool: &str, replicas: i32) {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.api::<NodePool>(USERS)
            .patch_scale(pool, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    pub async fn machines(&self) -> Vec<Machine> {
        self.api::<Machine>(MADE)
            .list(&ListParams::default())
            .await
            .map(|list| list.items)
            .unwrap_or_default()
    }

    /// Waits until the pool is ready with this number of nodes, and has no other Machines.
    pub async fn ready(&self, pool: &str, nodes: i32) -> NodePool {
        let what = format!("{pool} with {nodes} nodes");
        eventually(&what, async || {
            let found = self.api::<NodePool>(USERS).get(pool).await.unwrap();
            let own = self
                .machines()
                .await
                .into_iter()
                .filter(|machine| machine.name_any().starts_with(pool))
                .count();
            let status = found.status.clone().unwrap_or_default();
            let is_ready = condition(&json!(status), "Ready").is_some_and(|it| it["status"] == "True");
            (is_ready && status.replicas == nodes && i32::try_from(own) == Ok(nodes)).then_some(found)
        })
        .await
    }

    /// Keeps a Machine that is deleted.
    pub async fn hold(&self, machine: &str) {
        let machines = self.api::<Machine>(MADE);
        let found = machines.get(machine).await.unwrap();
        let mut finalizers = found.finalizers().to_vec();
        finalizers.push(HELD.to_owned());
        let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
        machines
            .patch(machine, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Ends [`Self::hold`].
    pub async fn release(&self, machine: &str) {
        let machines = self.api::<Machine>(MADE);
        let what = format!("{machine} to be held alone");
        let others = eventually(&what, async || {
            let found = machines.get(machine).await.unwrap();
            (found.finalizers() == [HELD]).then_some(())
        });
        others.await;
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        machines
            .patch(machine, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Waits until an object's condition has this reason; returns its message.
    pub async fn reason<K>(&self, name: &str, type_: &str, reason: &str) -> String
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned
            + serde::Serialize,
    {
        eventually(&format!("{name}: {type_} because of {reason}"), async || {
            let object = self.api::<K>(USERS).get(name).await.unwrap();
            let found = condition(&json!(object)["status"], type_)?;
            (found["reason"] == reason).then(|| found["message"].as_str().unwrap_or_default().to_owned())
        })
        .await
    }
}

pub fn condition(status: &Value, type_: &str) -> Option<Value> {
    let conditions = status["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == type_)
        .cloned()
}

/// The API of a workload cluster, in a database of its own.
async fn workload(folder: &TempDir) -> KubeApi {
    let url = format!("sqlite://{}/workload.db", folder.path().display());
    let (readers, writers) = Store::open(&url).await.unwrap().pools();
    let storage = SqlStorage::new(Kind::Sqlite, readers, writers);
    KubeApi::open(storage, Vec::new()).await.unwrap()
}

/// Serves an API for clients with a kubeconfig, which it returns.
fn listen(api: Router) -> (String, CancellationToken) {
    let authority = Authority::generate("workload").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let tls = RustlsConfig::from_config(Arc::new(authority.server_config(&[]).unwrap()));
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        let server = axum_server::from_tcp_rustls(listener, tls).unwrap();
        tokio::select! {
            served = server.serve(api.into_make_service()) => served.unwrap(),
            () = stopping.cancelled() => {}
        }
    });
    let text = kubeconfig(&url, authority.certificate_pem(), &Credentials::Token("secret"));
    (text, stop)
}

/// Simulates the infrastructure provider (its contract: docs/protocol/capi-agent-provider.md#2 to §5), hosts and kubelets.
async fn play(client: Client, workload: Client, stop: CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(error) = play_once(&client, &workload).await {
            // Another write was faster; the next round reads again.
            eprintln!("provider: {error}");
        }
        sleep(Duration::from_millis(100)).await;
    }
}

async fn play_once(client: &Client, workload: &Client) -> kube::Result<()> {
    let params = PatchParams::default();
    for cluster in Api::<AgentCluster>::all(client.clone())
        .list(&ListParams::default())
        .await?
    {
        let endpoint = cluster.spec.control_plane_endpoint.is_some();
        if endpoint && !cluster.status.is_some_and(|status| status.ready) {
            let api =
                Api::<AgentCluster>::namespaced(client.clone(), &cluster.metadata.namespace.clone().unwrap());
            let status = json!({"status": {"ready": true, "clusterDeploymentReference": {}}});
            api.patch_status(
                &cluster.metadata.name.clone().unwrap(),
                &params,
                &Patch::Merge(status),
            )
            .await?;
        }
    }
    let machines = Api::<Machine>::namespaced(client.clone(), MADE);
    let agent_machines = Api::<AgentMachine>::namespaced(client.clone(), MADE);
    let nodes = Api::<Node>::all(workload.clone());
    for machine in machines.list(&ListParams::default()).await? {
        let name = machine.name_any();
        let Some(own) = agent_machines.get_opt(&name).await? else {
            continue;
        };
        let is_deleting = condition(&json!(machine.status), "Deleting");
        if is_deleting.is_some_and(|it| it["reason"] == "WaitingForPreTerminateHook") {
            let patch = json!({"metadata": {"annotations": {HOOK: null}}});
            machines.patch(&name, &params, &Patch::Merge(patch)).await?;
            let patch = json!({"metadata": {"finalizers": null}});
            agent_machines.patch(&name, &params, &Patch::Merge(patch)).await?;
            continue;
        }
        if machine.metadata.deletion_timestamp.is_none()
            && let Some(request) = own.annotations().get(REINSTALL)
        {
            install_again(&agent_machines, &nodes, &own, request).await?;
        }
        if machine.metadata.deletion_timestamp.is_some()
            || own.status.as_ref().is_some_and(|status| status.ready)
        {
            continue;
        }
        let id = format!("agent://{name}");
        if nodes.get_opt(&name).await?.is_none() {
            let node = json!({"metadata": {"name": name}, "spec": {"providerID": id}});
            nodes
                .create(&PostParams::default(), &serde_json::from_value(node).unwrap())
                .await?;
            let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
            nodes.patch_status(&name, &params, &Patch::Merge(status)).await?;
        }
        let patch = json!({"metadata": {"annotations": {HOOK: ""}}});
        machines.patch(&name, &params, &Patch::Merge(patch)).await?;
        let patch = json!({"metadata": {"finalizers": [FINALIZER]}, "spec": {"providerID": id}});
        agent_machines.patch(&name, &params, &Patch::Merge(patch)).await?;
        let status =
            json!({"status": {"ready": true, "addresses": [{"type": "InternalDNS", "address": name}]}});
        agent_machines
            .patch_status(&name, &params, &Patch::Merge(status))
            .await?;
    }
    Ok(())
}

/// Simulates a host that is installed again: its kubelet becomes silent, and a new one comes when the old Node is gone.
async fn install_again(
    agent_machines: &Api<AgentMachine>,
    nodes: &Api<Node>,
    own: &AgentMachine,
    request: &str,
) -> kube::Result<()> {
    let params = PatchParams::default();
    let name = own.name_any();
    let request: Value = serde_json::from_str(request).unwrap();
    let shown = json!(own.status)["reinstall"].clone();
    let is_known = shown["requested"] == request["requested"];
    let again = own.annotations().get(AGAIN).map(String::as_str);
    let node = nodes.get_opt(&name).await?;
    let phase = match (shown["phase"].as_str().filter(|_| is_known), again) {
        (None, Some("ignored")) => return Ok(()),
        (None, Some("refused")) => "Refused",
        (None, Some("failed")) => "Failed",
        (None, _) => "Installing",
        (Some("Installing"), Some("installs")) => return Ok(()),
        (Some("Installing"), Some("joined")) => "Done",
        (Some("Installing"), _) if node.is_none() => "Done",
        (Some(_), _) => return Ok(()),
    };
    match phase {
        "Installing" if node.is_some() && again != Some("reports") => {
            let status = json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}});
            nodes.patch_status(&name, &params, &Patch::Merge(status)).await?;
        }
        "Done" if node.is_none() => {
            let node = json!({"metadata": {"name": name}, "spec": {"providerID": format!("agent://{name}")}});
            nodes
                .create(&PostParams::default(), &serde_json::from_value(node).unwrap())
                .await?;
            let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
            nodes.patch_status(&name, &params, &Patch::Merge(status)).await?;
        }
        _ => {}
    }
    let reinstall = json!({"requested": request["requested"], "phase": phase, "message": "it fails"});
    let status = Patch::Merge(json!({"status": {"reinstall": reinstall}}));
    agent_machines.patch_status(&name, &params, &status).await?;
    Ok(())
}
