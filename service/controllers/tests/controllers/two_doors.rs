//! The commands that refusals by REST name have a lasting effect, and a record that is lost while its resource stays is made again as it
//! was (docs/two-doors.md).

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, NamespaceResourceScope};
use kube::{Api, Resource};
use muster_api::bmc::BmcUpdateParams;
use muster_api::cluster::{ClusterUpdateParams, ImportClusterParams};
use muster_api::host::HostUpdateParams;
use muster_api::ids::{BmcId, ClusterId, HostId, InfraEnvId};
use muster_api::infra_env::{InfraEnvCreateParams, InfraEnvUpdateParams};
use muster_controllers::bridge;
use muster_core::lifecycle::host::{HostEvent, Machine};
use muster_core::lifecycle::infra_env::create;
use muster_core::record::KubeRef;
use muster_operations::{OperationError, now, random};
use muster_resources::{AgentClusterInstall, Bmc, ClusterDeployment, InfraEnv};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::backend::{Backend, eventually};
use crate::plain_bridge::plain_bridge;

const NAMESPACE: &str = "default";

struct World {
    backend: Backend,
    infra_env: InfraEnvId,
    _stop: DropGuard,
}

impl World {
    /// A bridge that leads, with an InfraEnv.
    async fn start() -> Self {
        let backend = Backend::open(now()).await;
        let stop = CancellationToken::new();
        let bridge = plain_bridge(backend.client.clone());
        tokio::spawn(bridge::run(backend.operations.clone(), bridge, stop.clone()));
        let mut world = Self {
            backend,
            infra_env: InfraEnvId::random(),
            _stop: stop.drop_guard(),
        };
        world
            .create::<Secret>(json!({
                "metadata": {"name": "pull-secret"},
                "stringData": {".dockerconfigjson": r#"{"auths":{"registry.example.test":{"auth":"dXNlcjpwYXNz"}}}"#},
            }))
            .await;
        world.apply_hw().await;
        world.infra_env = eventually("the InfraEnv", async || {
            let found = world.infra_envs().find_by_kube(&kube("hw")).await.unwrap();
            found.map(|found| found.id)
        })
        .await;
        world
    }

    /// Makes the InfraEnv `hw`.
    async fn apply_hw(&self) {
        self.create::<InfraEnv>(json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": "hw"}, "spec": {"pullSecretRef": {"name": "pull-secret"}},
        }))
        .await;
    }

    fn infra_envs(&self) -> &muster_operations::infra_envs::InfraEnvs {
        &self.backend.operations.infra_envs
    }

    async fn create<K>(&self, object: Value)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + DeserializeOwned
            + Serialize
            + Clone
            + std::fmt::Debug,
    {
        let object: K = serde_json::from_value(object).unwrap();
        let api = Api::<K>::namespaced(self.backend.client.clone(), NAMESPACE);
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    async fn cluster(&self) -> ClusterId {
        self.create::<ClusterDeployment>(json!({
            "metadata": {"name": "prod"},
            "spec": {
                "baseDomain": "example.test", "clusterName": "prod", "installed": true,
                "clusterInstallRef": {
                    "group": "extensions.hive.openshift.io", "kind": "AgentClusterInstall", "name": "install-of-prod", "version": "v1beta1",
                },
                "platform": {"agentBareMetal": {"agentSelector": {}}}, "pullSecretRef": {"name": "pull-secret"},
            },
        }))
        .await;
        self.create::<AgentClusterInstall>(json!({
            "metadata": {"name": "install-of-prod"},
            "spec": {
                "clusterDeploymentRef": {"name": "prod"}, "networking": {"userManagedNetworking": true},
                "provisionRequirements": {"controlPlaneAgents": 3},
            },
        }))
        .await;
        eventually("the cluster", async || {
            let found = self.backend.operations.clusters.find_by_kube(&kube("prod")).await;
            found.unwrap().map(|found| found.id)
        })
        .await
    }

    async fn bmc(&self) -> BmcId {
        self.create::<Secret>(json!({
            "metadata": {"name": "bmc"}, "stringData": {"username": "root", "password": "p"},
        }))
        .await;
        self.create::<Bmc>(json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "BMC", "metadata": {"name": "r1u7"},
            "spec": {
                "infraEnvRef": {"name": "hw"}, "address": "r1u7.example.test", "credentialsName": "bmc", "discover": false,
            },
        }))
        .await;
        eventually("the BMC", async || {
            let found = self.backend.operations.bmcs.find_by_kube(&kube("r1u7")).await;
            found.unwrap().map(|found| found.id)
        })
        .await
    }

    /// Runs the command that patches an object.
    async fn type_patch(&self, refusal: &str) {
        let (_, command) = refusal.rsplit_once("kubectl -n default patch ").unwrap();
        let (object, patch) = command.split_once(" --type merge -p ").unwrap();
        let (kind, name) = object.split_once(' ').unwrap();
        let (group, version, kind) = match kind {
            "infraenv" => ("agent-install.openshift.io", "v1beta1", "InfraEnv"),
            "agent" => ("agent-install.openshift.io", "v1beta1", "Agent"),
            "clusterdeployment" => ("hive.openshift.io", "v1", "ClusterDeployment"),
            "bmc" => ("muster.dev", "v1alpha1", "BMC"),
            other => panic!("{other}: {refusal}"),
        };
        let of_kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let of_kind = match kind {
            "BMC" => ApiResource {
                plural: "bmcs".into(),
                ..of_kind
            },
            _ => of_kind,
        };
        self.patch(of_kind, name, patch).await;
    }

    /// Like [`Self::type_patch`] for the AgentClusterInstall; the shell looks up its name.
    async fn type_patch_of_install(&self, refusal: &str) {
        let (before, patch) = refusal.rsplit_once(" --type merge -p ").unwrap();
        assert!(
            before.ends_with("patch agentclusterinstall \"$(kubectl -n default get clusterdeployment prod -o jsonpath='{.spec.clusterInstallRef.name}')\""),
            "{refusal}"
        );
        let gvk = GroupVersionKind::gvk("extensions.hive.openshift.io", "v1beta1", "AgentClusterInstall");
        self.patch(ApiResource::from_gvk(&gvk), "install-of-prod", patch)
            .await;
    }

    async fn patch(&self, of_kind: ApiResource, name: &str, patch: &str) {
        let text = patch
            .strip_prefix('\'')
            .and_then(|text| text.strip_suffix('\''))
            .unwrap()
            .replace(r"'\''", "'");
        let patch: Value = serde_json::from_str(&text).unwrap();
        let api = Api::<DynamicObject>::namespaced_with(self.backend.client.clone(), NAMESPACE, &of_kind);
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    async fn update_infra_env(&self, params: Value) -> Result<(), OperationError> {
        let params: InfraEnvUpdateParams = serde_json::from_value(params).unwrap();
        let bridge = &self.backend.operations.bridge;
        let done = self
            .infra_envs()
            .update_by_user(bridge, self.infra_env, &params, |_| Ok(()))
            .await;
        done.map(drop)
    }

    async fn apply(&self, host: HostId, event: HostEvent) -> Result<(), OperationError> {
        let operations = &self.backend.operations;
        let done = operations
            .hosts
            .apply_by_user(&operations.bridge, self.infra_env, host, event)
            .await;
        done.map(drop)
    }

    async fn update_cluster(&self, id: ClusterId, params: Value) -> Result<(), OperationError> {
        let params: ClusterUpdateParams = serde_json::from_value(params).unwrap();
        let operations = &self.backend.operations;
        let done = operations
            .clusters
            .update_by_user(&operations.bridge, id, &params)
            .await;
        done.map(drop)
    }

    async fn update_bmc(&self, id: BmcId, params: Value) -> Result<(), OperationError> {
        let params: BmcUpdateParams = serde_json::from_value(params).unwrap();
        let operations = &self.backend.operations;
        let done = operations
            .bmcs
            .update_by_user(&operations.bridge, self.infra_env, id, &params)
            .await;
        done.map(drop)
    }
}

fn kube(name: &str) -> KubeRef {
    KubeRef::new(NAMESPACE, name)
}

fn refusal(done: Result<(), OperationError>) -> String {
    let refused = done.unwrap_err();
    assert!(matches!(refused, OperationError::OfResource(_)), "{refused}");
    refused.to_string()
}

/// The request is refused, and the refusal ends with this command.
fn refused_with(done: Result<(), OperationError>, command: &str) {
    let words = refusal(done);
    let command = format!(": kubectl -n {NAMESPACE} {command}");
    assert!(words.ends_with(&command), "{words}");
}

/// The request is refused; once the command was run the request changes nothing, and is accepted.
async fn lasts(what: &str, ask: impl AsyncFn() -> Result<(), OperationError>, typed: impl AsyncFn(&str)) {
    let told = refusal(ask().await);
    typed(&told).await;
    eventually(&format!("{what} to be what the command made it"), async || {
        ask().await.ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_refused_changes_last() {
    let world = World::start().await;
    for params in [
        json!({"additional_ntp_sources": "192.0.2.1,192.0.2.2"}),
        json!({"kernel_arguments": [{"operation": "append", "value": "it's"}]}),
        json!({"proxy": {"http_proxy": "http://p.example.test:3128", "no_proxy": "a.example.test"}}),
        json!({"image_type": "full-iso", "network_discovery_delay_seconds": 7}),
        json!({"openshift_version": "4.20"}),
    ] {
        let what = params.to_string();
        let ask = async || world.update_infra_env(params.clone()).await;
        if ask().await.is_ok() {
            // The value is set already.
            continue;
        }
        lasts(&what, ask, async |told| world.type_patch(told).await).await;
    }

    let host = HostId::random();
    let hosts = &world.backend.operations.hosts;
    hosts
        .register(world.infra_env, host, "v", Machine::default())
        .await
        .unwrap();
    eventually("the Agent", async || {
        let gvk = GroupVersionKind::gvk("agent-install.openshift.io", "v1beta1", "Agent");
        let client = world.backend.client.clone();
        let of_kind = ApiResource::from_gvk(&gvk);
        let api = Api::<DynamicObject>::namespaced_with(client, NAMESPACE, &of_kind);
        api.get_opt(&host.to_string()).await.unwrap()
    })
    .await;
    for params in [
        json!({"host_name": "node-1"}),
        json!({"host_role": "worker", "machine_config_pool_name": "pool"}),
        json!({"node_labels": [{"key": "rack", "value": "r1"}]}),
    ] {
        let edited: HostUpdateParams = serde_json::from_value(params.clone()).unwrap();
        let event = HostEvent::Edited(edited);
        let ask = async || world.apply(host, event.clone()).await;
        lasts(&params.to_string(), ask, async |told| {
            world.type_patch(told).await
        })
        .await;
    }
    let event = HostEvent::InstallerArgsSet(vec!["--append-karg".into(), "quiet".into()]);
    let ask = async || world.apply(host, event.clone()).await;
    lasts("the words for coreos-installer", ask, async |told| {
        world.type_patch(told).await;
    })
    .await;

    let cluster = world.cluster().await;
    for params in [
        json!({"ntp_sources": "192.0.2.9"}),
        json!({"machine_networks": [{"cidr": "192.0.2.0/24"}], "api_vips": [{"ip": "192.0.2.5"}]}),
        json!({"cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}], "service_networks": [{"cidr": "172.30.0.0/16"}]}),
        json!({"http_proxy": "http://p.example.test:3128"}),
    ] {
        let ask = async || world.update_cluster(cluster, params.clone()).await;
        lasts(&params.to_string(), ask, async |told| {
            world.type_patch_of_install(told).await;
        })
        .await;
    }
    let domain = json!({"base_dns_domain": "other.example.test"});
    let ask = async || world.update_cluster(cluster, domain.clone()).await;
    lasts("the domain", ask, async |told| world.type_patch(told).await).await;

    let bmc = world.bmc().await;
    let moved = json!({"address": "other.example.test"});
    let ask = async || world.update_bmc(bmc, moved.clone()).await;
    lasts("the address", ask, async |told| world.type_patch(told).await).await;
    let operations = &world.backend.operations;
    let discovered = operations
        .bmcs
        .discover_by_user(&operations.bridge, world.infra_env, bmc)
        .await;
    world.type_patch(&refusal(discovered.map(drop))).await;
    eventually("the discovery", async || {
        let found = operations.bmcs.get(world.infra_env, bmc).await.unwrap();
        found.stage.is_active().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_a_resource_is_deleted_there_alone() {
    let world = World::start().await;
    let operations = &world.backend.operations;
    let (cluster, bmc) = (world.cluster().await, world.bmc().await);
    let bridge = &operations.bridge;
    let infra_envs = &operations.infra_envs;
    refused_with(
        infra_envs.delete_by_user(bridge, world.infra_env).await,
        "delete infraenv hw",
    );
    refused_with(
        operations.delete_cluster_by_user(cluster).await,
        "delete clusterdeployment prod",
    );
    refused_with(
        operations.bmcs.delete_by_user(bridge, world.infra_env, bmc).await,
        "delete bmc r1u7",
    );
    // A resource whose finalizers were removed: the record stays, and belongs to REST.
    let params: InfraEnvCreateParams = serde_json::from_value(json!({"name": "left"})).unwrap();
    let mut left = create(params, InfraEnvId::random(), random::boot_id(), now()).unwrap();
    left.kube = Some(kube("left"));
    let id = operations.infra_envs.create(left).await.unwrap().id;
    operations.infra_envs.delete_by_user(bridge, id).await.unwrap();
}

/// The record is deleted as REST does it while the service runs without Kubernetes.
#[tokio::test(flavor = "multi_thread")]
async fn an_infra_env_whose_record_is_lost_comes_back_with_its_id_and_its_urls() {
    let world = World::start().await;
    let infra_envs = world.infra_envs();
    let api = Api::<InfraEnv>::namespaced(world.backend.client.clone(), NAMESPACE);
    infra_envs.replace_tokens(world.infra_env).await.unwrap();
    let before = infra_envs.get(world.infra_env).await.unwrap();
    let shown = format!("/boot/{}/", before.boot_id);
    let shows = async || {
        let found = api.get("hw").await.unwrap();
        let script = found.status?.boot_artifacts?.ipxe_script?;
        script.contains(&shown).then_some(())
    };
    // There is no live image here; the resource has addresses once there was one.
    let status = json!({"status": {"bootArtifacts": {"ipxeScript": format!("http://muster.example.test:8091{shown}boot.ipxe")}}});
    api.patch_status("hw", &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
    eventually("the addresses", shows).await;
    infra_envs.delete(world.infra_env).await.unwrap();
    let again = eventually("the record", async || {
        infra_envs.find_by_kube(&kube("hw")).await.unwrap()
    })
    .await;
    assert_eq!((again.id, &again.boot_id), (before.id, &before.boot_id));
    assert_eq!(again.settings.token_generation, 1, "what was revoked stays so");
    assert_eq!(infra_envs.get(before.id).await.unwrap().id, before.id);
    let by_url = infra_envs.find_by_boot_id(&before.boot_id).await.unwrap();
    assert_eq!(by_url.map(|found| found.id), Some(before.id));

    // A resource that is deleted with `kubectl` and created again is another one.
    api.delete("hw", &Default::default()).await.unwrap();
    eventually("the resource to be gone", async || {
        api.get_opt("hw").await.unwrap().is_none().then_some(())
    })
    .await;
    world.apply_hw().await;
    let new = eventually("another record", async || {
        infra_envs.find_by_kube(&kube("hw")).await.unwrap()
    })
    .await;
    assert_ne!(new.id, before.id);
    assert_ne!(new.boot_id, before.boot_id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_whose_record_is_lost_comes_back_with_its_id() {
    let world = World::start().await;
    let (client, operations) = (world.backend.client.clone(), &world.backend.operations);
    let deployments = Api::<ClusterDeployment>::namespaced(client.clone(), NAMESPACE);
    let installs = Api::<AgentClusterInstall>::namespaced(client, NAMESPACE);
    let id = world.cluster().await;
    let before = operations.clusters.get(id).await.unwrap();
    eventually("the address of its events", async || {
        let info = installs
            .get("install-of-prod")
            .await
            .unwrap()
            .status?
            .debug_info?;
        info.events_url?.contains(&id.to_string()).then_some(())
    })
    .await;
    operations.delete_cluster(id).await.unwrap();
    let again = eventually("the record", async || {
        operations.clusters.find_by_kube(&kube("prod")).await.unwrap()
    })
    .await;
    assert_eq!((again.id, again.created_at), (id, before.created_at));
    assert_eq!(again.data.base_dns_domain, "example.test");
    assert_ne!(
        again.data.url_key, before.data.url_key,
        "what was signed for it is revoked"
    );
    assert_eq!(operations.clusters.is_deleted(id).await.unwrap(), Some(false));

    // One that is deleted with `kubectl` and made anew is another one.
    deployments.delete("prod", &Default::default()).await.unwrap();
    eventually("the resources to be gone", async || {
        let gone = deployments.get_opt("prod").await.unwrap().is_none();
        (gone && installs.get_opt("install-of-prod").await.unwrap().is_none()).then_some(())
    })
    .await;
    assert_ne!(world.cluster().await, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_later_of_two_clusters_at_one_api_says_so() {
    let world = World::start().await;
    let params = ImportClusterParams {
        name: "prod".into(),
        api_vip_dnsname: "api.prod.example.test".into(),
        openshift_version: None,
        openshift_cluster_id: "00000000-0000-0000-0000-000000000009".parse().unwrap(),
    };
    let made = muster_core::lifecycle::cluster::import(params, ClusterId::random(), now()).unwrap();
    let by_rest = world.backend.operations.clusters.create(made).await.unwrap();
    world.cluster().await;
    let api = Api::<AgentClusterInstall>::namespaced(world.backend.client.clone(), NAMESPACE);
    let told = eventually("the condition", async || {
        let found = serde_json::to_value(api.get("install-of-prod").await.unwrap()).unwrap();
        let conditions = found["status"]["conditions"].as_array()?.clone();
        let synced = conditions.iter().find(|one| one["type"] == "SpecSynced")?;
        let message = synced["message"].as_str()?.to_owned();
        message
            .contains("same API")
            .then_some((synced["status"].clone(), message))
    })
    .await;
    assert_eq!(told.0, "True");
    let line = format!("muster cluster delete {}", by_rest.id);
    assert!(told.1.contains(&line), "{}", told.1);
}
