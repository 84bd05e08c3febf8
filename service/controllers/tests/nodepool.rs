//! HostedClusters and NodePools on a built-in Kubernetes API in this process. The infrastructure provider, hosts and kubelets are played;
//! the workload cluster is another API with Nodes.
#![allow(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Node, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use muster_controllers::events::Events;
use muster_controllers::{Context, nodepool};
use muster_core::rules::requirements::Requirements;
use muster_core::rules::stages::StageLimits;
use muster_kube_api::{
    Authority, Caller, Conversion, Conversions, Credentials, Database, KubeApi, SqlStorage, Tokens,
    kubeconfig,
};
use muster_operations::auth::{Auth, Keys};
use muster_operations::bridge::BridgeState;
use muster_operations::hosts::HostSettings;
use muster_operations::live_image::LiveImages;
use muster_operations::urls::Urls;
use muster_operations::{OperationSettings, Operations, now};
use muster_resources::cluster_api::conversion::{self, Kind};
use muster_resources::cluster_api::{Cluster, Machine};
use muster_resources::hypershift::{HostedCluster, HostedControlPlane, NodePool};
use muster_resources::{AgentCluster, AgentMachine, AgentMachineTemplate, crds};
use muster_store::Store;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

const RENDERED: &str = include_str!("../../../tests/data/hcp-create-cluster-agent.yaml");
const USERS: &str = "clusters";
const MADE: &str = "clusters-vcluster2";
const CLUSTER: &str = "vcluster2-x7k2p";
const HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/agentmachine";
const FINALIZER: &str = "agentmachine.agent-install.openshift.io/deprovision";
const SOON: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct ClusterApi(Kind);

impl Conversion for ClusterApi {
    fn convert(&self, object: Value, to: &str) -> Value {
        conversion::convert(self.0, object, to)
    }
}

/// An API in a database of its own.
async fn api(folder: &TempDir, name: &str, definitions: Vec<Value>) -> (KubeApi, Store) {
    let url = format!("sqlite://{}/{name}.db", folder.path().display());
    let store = Store::open(&url).await.unwrap();
    let (readers, writers) = store.pools();
    let conversions = Conversions::default()
        .with("cluster.x-k8s.io", "Cluster", Arc::new(ClusterApi(Kind::Cluster)))
        .with("cluster.x-k8s.io", "Machine", Arc::new(ClusterApi(Kind::Machine)));
    let storage = SqlStorage::new(Database::Sqlite, readers, writers);
    let api = KubeApi::open_with(storage, definitions, conversions)
        .await
        .unwrap();
    (api, store)
}

fn operations(store: Store) -> Arc<Operations> {
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
    let (auth, images) = (Auth::new(false, keys, None), LiveImages::new([]));
    Arc::new(Operations::new(
        store,
        auth,
        images,
        BridgeState::new(true, true),
        settings,
    ))
}

/// Controllers at work, a workload cluster, and somebody who plays the rest.
struct World {
    client: Client,
    workload: Client,
    /// The workload cluster's, for an administrator.
    kubeconfig: String,
    _running: Vec<DropGuard>,
    _workload: KubeApi,
    _folder: TempDir,
}

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let definitions = crds::own().into_iter().chain(crds::foreign());
        let mut definitions: Vec<Value> = definitions
            .map(|one| serde_json::to_value(one).unwrap())
            .collect();
        definitions.extend(crds::builtin());
        let (hub, store) = api(&folder, "hub", definitions).await;
        let (workload, _) = api(&folder, "workload", Vec::new()).await;
        let (kubeconfig, listening) = listen(&workload, &folder);
        let client = Client::new(hub.service(), "default");

        let (events, queued) = Events::new();
        let context = Arc::new(Context::new(&client, operations(store), events));
        let stop = CancellationToken::new();
        tokio::spawn(muster_controllers::events::publish(client.clone(), queued));
        tokio::spawn(nodepool::run(context, stop.clone()));
        let world = Self {
            workload: Client::new(workload.service(), "default"),
            client,
            kubeconfig,
            _running: vec![stop.clone().drop_guard(), listening.drop_guard()],
            _workload: workload,
            _folder: folder,
        };
        tokio::spawn(play(world.client.clone(), world.workload.clone(), stop));
        // It lives as long as its clients.
        std::mem::forget(hub);
        world
    }

    fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Applies what `hcp create cluster agent --render` prints, without the Secrets that it leaves out, and makes the namespace of Agents.
    async fn apply_rendered(&self) {
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

    async fn secrets(&self) {
        self.secret("vcluster2-pull-secret", ".dockerconfigjson", r#"{"auths":{}}"#)
            .await;
        self.secret("vcluster2-admin-kubeconfig", "kubeconfig", &self.kubeconfig)
            .await;
        self.user_data("vcluster2", "one").await;
    }

    async fn user_data(&self, pool: &str, content: &str) {
        let config = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": content}]}});
        self.secret(&format!("user-data-{pool}"), "value", &config.to_string())
            .await;
    }

    async fn scale(&self, pool: &str, replicas: i32) {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.api::<NodePool>(USERS)
            .patch_scale(pool, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    async fn machines(&self) -> Vec<Machine> {
        self.api::<Machine>(MADE)
            .list(&ListParams::default())
            .await
            .map(|list| list.items)
            .unwrap_or_default()
    }

    /// Waits until the pool is ready with so many nodes, and has no other Machines.
    async fn ready(&self, pool: &str, nodes: i32) -> NodePool {
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

    /// Waits until an object's condition has this reason; returns its message.
    async fn reason<K>(&self, name: &str, type_: &str, reason: &str) -> String
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

fn condition(status: &Value, type_: &str) -> Option<Value> {
    let conditions = status["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == type_)
        .cloned()
}

async fn eventually<T>(what: &str, check: impl AsyncFn() -> Option<T>) -> T {
    let found = timeout(SOON, async {
        loop {
            if let Some(found) = check().await {
                return found;
            }
            sleep(Duration::from_millis(50)).await;
        }
    });
    found
        .await
        .unwrap_or_else(|_| panic!("waited {SOON:?} for {what}"))
}

/// Serves an API for clients with a kubeconfig, which it returns.
fn listen(api: &KubeApi, folder: &TempDir) -> (String, CancellationToken) {
    let authority = Authority::open(folder.path()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let tls = authority.server_config(&[]).unwrap();
    let tokens = Tokens::default().with("secret", Caller::administrator());
    let (api, stop) = (api.clone(), CancellationToken::new());
    let stopping = stop.clone();
    tokio::spawn(async move { api.listen(listener, tls, tokens, stopping).await });
    let text = kubeconfig(&url, authority.certificate_pem(), &Credentials::Token("secret"));
    (text, stop)
}

/// Plays the infrastructure provider (its contract: docs/protocol/capi-agent-provider.md#2 to §5), hosts and kubelets.
async fn play(client: Client, workload: Client, stop: CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(error) = play_once(&client, &workload).await {
            // Another was faster; the next round reads anew.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rendered_cluster_is_taken_as_it_is_and_says_what_is_missing() {
    let world = World::start().await;
    world.apply_rendered().await;
    let why = world
        .reason::<HostedCluster>("vcluster2", "Available", "KubeconfigMissing")
        .await;
    assert!(
        why.contains("clusters/vcluster2-admin-kubeconfig") && why.contains("key kubeconfig"),
        "{why}"
    );
    let why = world
        .reason::<HostedCluster>("vcluster2", "ValidConfiguration", "PullSecretMissing")
        .await;
    assert!(why.contains(".dockerconfigjson"), "{why}");
    world.scale("vcluster2", 1).await;
    let why = world
        .reason::<NodePool>("vcluster2", "Ready", "UserDataMissing")
        .await;
    assert!(
        why.contains("clusters/user-data-vcluster2") && why.contains("key value"),
        "{why}"
    );
    world.scale("vcluster2", 0).await;

    world.secrets().await;
    world
        .reason::<HostedCluster>("vcluster2", "Available", "AsExpected")
        .await;
    let cluster = world.api::<Cluster>(MADE).get(CLUSTER).await.unwrap();
    let reference = cluster.spec.infrastructure_ref.unwrap();
    assert_eq!(
        (reference.kind.as_str(), reference.name.as_str()),
        ("AgentCluster", "vcluster2")
    );
    let control_plane = world
        .api::<HostedControlPlane>(MADE)
        .get("vcluster2")
        .await
        .unwrap();
    assert_eq!(control_plane.spec.pull_secret.unwrap().name, "pull-secret");
    let secrets = world.api::<Secret>(MADE);
    for (name, key) in [
        ("admin-kubeconfig", "kubeconfig"),
        ("vcluster2-x7k2p-kubeconfig", "value"),
    ] {
        let secret = secrets.get(name).await.unwrap();
        assert_eq!(secret.data.unwrap()[key].0, world.kubeconfig.as_bytes(), "{name}");
    }
    let hosted = world.api::<HostedCluster>(USERS).get("vcluster2").await.unwrap();
    let status = hosted.status.unwrap();
    assert_eq!(status.control_plane_endpoint.unwrap().host, "127.0.0.1");
    assert_eq!(status.kubeconfig.unwrap().name, "vcluster2-admin-kubeconfig");
    assert_eq!(status.version.unwrap()["history"][0]["version"], "4.20.1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_is_scaled_up_and_down_and_all_goes_with_its_cluster() {
    let world = World::start().await;
    world.apply_rendered().await;
    world.secrets().await;
    world.scale("vcluster2", 2).await;
    world.ready("vcluster2", 2).await;
    let machines = world.machines().await;
    for machine in &machines {
        let status = machine.status.as_ref().unwrap();
        assert_eq!(status.phase.as_deref(), Some("Running"));
        assert_eq!(status.node_ref.as_ref().unwrap().name, machine.name_any());
        assert_eq!(
            machine.spec.provider_id,
            Some(format!("agent://{}", machine.name_any()))
        );
        assert_eq!(machine.labels()["cluster.x-k8s.io/cluster-name"], CLUSTER);
        let own = world
            .api::<AgentMachine>(MADE)
            .get(&machine.name_any())
            .await
            .unwrap();
        assert_eq!(own.owner_references()[0].uid, machine.uid().unwrap());
        let namespace = &own.annotations()["capi-provider.agent-install.openshift.io/agent-namespace"];
        assert_eq!(namespace, "hardware");
    }
    // The one that somebody chose goes.
    let (kept, chosen) = (machines[0].name_any(), machines[1].name_any());
    let patch = json!({"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": "yes"}}});
    let api = world.api::<Machine>(MADE);
    api.patch(&chosen, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    world.scale("vcluster2", 1).await;
    world.ready("vcluster2", 1).await;
    assert_eq!(world.machines().await[0].name_any(), kept);
    let nodes = Api::<Node>::all(world.workload.clone());
    assert!(
        nodes.get_opt(&chosen).await.unwrap().is_none(),
        "its Node is deleted"
    );
    assert!(
        world
            .api::<AgentMachine>(MADE)
            .get_opt(&chosen)
            .await
            .unwrap()
            .is_none()
    );

    let hosted = world.api::<HostedCluster>(USERS);
    hosted
        .delete("vcluster2", &DeleteParams::default())
        .await
        .unwrap();
    eventually("everything to go", async || {
        let namespaces = Api::<Namespace>::all(world.client.clone());
        let is_left = hosted.get_opt("vcluster2").await.unwrap().is_some()
            || namespaces.get_opt(MADE).await.unwrap().is_some()
            || world
                .api::<NodePool>(USERS)
                .get_opt("vcluster2")
                .await
                .unwrap()
                .is_some();
        (!is_left).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_bootstrap_data_roll_a_pool_within_its_limits_or_only_new_machines() {
    let world = World::start().await;
    world.apply_rendered().await;
    world.secrets().await;
    let pools = world.api::<NodePool>(USERS);
    for (name, surge, unavailable) in [("surging", 1, 0), ("spare", 0, 1)] {
        let pool = json!({
            "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": {"name": name},
            "spec": {
                "clusterName": "vcluster2", "replicas": 2, "platform": {"type": "Agent"},
                "release": {"image": "quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64"},
                "management": {"upgradeType": "Replace", "replace": {"strategy": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}},
            },
        });
        let pool: NodePool = serde_json::from_value(pool).unwrap();
        world.user_data(name, "one").await;
        pools.create(&PostParams::default(), &pool).await.unwrap();
        world.ready(name, 2).await;
        let before: Vec<String> = of(&world, name).await.iter().map(ResourceExt::name_any).collect();
        world.user_data(name, "two").await;
        let most = eventually(&format!("{name} to be rolled"), async || {
            let machines = of(&world, name).await;
            let alive = machines
                .iter()
                .filter(|machine| machine.metadata.deletion_timestamp.is_none());
            assert!(alive.count() <= 2 + surge, "{name}: {machines:?}");
            let is_new = machines
                .iter()
                .all(|machine| !before.contains(&machine.name_any()));
            (is_new && machines.len() == 2).then_some(machines.len())
        })
        .await;
        assert_eq!(most, 2);
        world.ready(name, 2).await;
        let secrets: std::collections::BTreeSet<_> = of(&world, name)
            .await
            .into_iter()
            .map(|machine| machine.spec.bootstrap.data_secret_name)
            .collect();
        assert_eq!(secrets.len(), 1, "{secrets:?}");
    }
    // In place: the Machine stays, and the pool says so.
    world.scale("vcluster2", 1).await;
    world.ready("vcluster2", 1).await;
    let before = of(&world, "vcluster2").await[0].name_any();
    world.user_data("vcluster2", "two").await;
    let why = world
        .reason::<NodePool>("vcluster2", "UpdatingConfig", "OnlyNewMachines")
        .await;
    assert!(why.contains("1 Machines keep"), "{why}");
    assert_eq!(of(&world, "vcluster2").await[0].name_any(), before);
    let templates = world
        .api::<AgentMachineTemplate>(MADE)
        .list(&ListParams::default())
        .await
        .unwrap();
    assert_eq!(templates.items.len(), 3, "one a pool");
}

async fn of(world: &World, pool: &str) -> Vec<Machine> {
    let mut machines = world.machines().await;
    machines.retain(|machine| machine.labels()["cluster.x-k8s.io/deployment-name"] == pool);
    machines
}
