//! The simulated environment of the provider.

use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, NamespaceResourceScope};
use kube::{Api, Resource, ResourceExt};
use muster_cluster_api::capi;
use muster_cluster_api::capi::turns::{Holder, SERVICE, Turns};
use muster_cluster_api::{OnlyPool, Pool};
use muster_controller::events::{Events, publish};
use muster_controller::namespaces::Namespaces;
use muster_controllers::node_pools::NodePoolLooks;
use muster_core::rules::os_image::OsImage;
use muster_operations::bridge::BridgeStatus;
use muster_operations::{Operations, now};
use muster_resources::{
    Agent, AgentCluster, AgentMachine, AgentMachineStatus, AgentMachineTemplate, AgentQuota,
    ClusterDeployment, InfraEnv, StandardCondition,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::backend::{Backend, eventually};

/// Namespace of the control plane.
pub const NAMESPACE: &str = "clusters-one";

/// Namespace of the Agents.
pub const AGENTS: &str = "hardware";

/// The InfraEnv of the Agents.
const INFRA_ENV: &str = "hw";

/// The running provider. Dropping this value stops it.
pub struct World {
    backend: Backend,
    _stop: DropGuard,
}

/// Type of the bounds of a kind.
pub trait Kind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Serialize + Clone + Debug
{
}

impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + DeserializeOwned
        + Serialize
        + Clone
        + Debug
{
}

/// A pointer to an Ignition server, as HyperShift writes it.
pub fn pointer() -> Value {
    json!({"ignition": {"version": "3.2.0", "config": {"merge": [{
        "source": "https://ignition.example.test:31111/ignition",
        "httpHeaders": [
            {"name": "Authorization", "value": "Bearer ZmFrZQ=="}, {"name": "NodePool", "value": "clusters/np"},
        ],
    }]}}})
}

/// Status and reason of a condition; empty when it is not there.
pub fn condition<'a>(list: &'a [StandardCondition], type_: &str) -> (&'a str, &'a str) {
    let found = list.iter().find(|one| one.type_ == type_);
    found.map_or(("", ""), |one| (&one.status, &one.reason))
}

/// The kind of Machines as HyperShift writes them: in the older version.
fn old_machine() -> ApiResource {
    let kind = GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta1", "Machine");
    ApiResource::from_gvk_with_plural(&kind, "machines")
}

fn of_cluster_api(kind: &str, plural: &str) -> ApiResource {
    let kind = GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", kind);
    ApiResource::from_gvk_with_plural(&kind, plural)
}

fn of_hypershift(kind: &str, plural: &str) -> ApiResource {
    let kind = GroupVersionKind::gvk("hypershift.openshift.io", "v1beta1", kind);
    ApiResource::from_gvk_with_plural(&kind, plural)
}

impl World {
    pub async fn start() -> Self {
        Self::start_as(Vec::new(), |_| {}).await
    }

    /// Starts the provider as `muster manager` does, with all Agents of [`AGENTS`] for Machines of [`NAMESPACE`].
    pub async fn start_alone() -> Self {
        Self::start_as(Vec::new(), |context| {
            let of = |namespace: &str| {
                let (events, _) = Events::new();
                let namespaces = Namespaces::from(vec![namespace.to_owned()]);
                let (client, watches) = (&context.runtime.client, context.runtime.watches.clone());
                muster_controller::Context::new(client, events, namespaces, watches)
            };
            let (own, agents) = (of(NAMESPACE), of(AGENTS));
            context.pool = Pool::Only(Box::new(OnlyPool {
                namespace: AGENTS.to_owned(),
                runtime: agents,
            }));
            context.runtime = Arc::new(own);
        })
        .await
    }

    /// Starts the provider of a service among other providers.
    pub async fn start_among_others() -> Self {
        let holder = Holder {
            me: format!("{SERVICE}muster"),
            take_over: false,
        };
        Self::start_as(Vec::new(), |context| context.turns = Turns::among_others(holder)).await
    }

    /// With OS images that the service offers.
    pub async fn start_with(os_images: Vec<OsImage>) -> Self {
        Self::start_as(os_images, |_| {}).await
    }

    /// Starts the provider with this `--watch-filter`.
    pub async fn start_filtered(watch_filter: &str) -> Self {
        Self::start_as(Vec::new(), |context| {
            context.watch_filter = Some(watch_filter.to_owned())
        })
        .await
    }

    async fn start_as(
        os_images: Vec<OsImage>,
        change: impl FnOnce(&mut muster_cluster_api::Context),
    ) -> Self {
        let backend = Backend::open_with(now(), os_images).await;
        let (events, queued) = Events::new();
        tokio::spawn(publish(backend.client.clone(), queued));
        let mut context = backend.context(events).of_cluster_api();
        change(Arc::get_mut(&mut context).unwrap());
        let stop = CancellationToken::new();
        let world = Self {
            backend,
            _stop: stop.clone().drop_guard(),
        };
        for name in [NAMESPACE, AGENTS] {
            world.namespace(name).await;
        }
        world.infra_env(Some(NAMESPACE)).await;
        tokio::spawn(capi::run(context, stop));
        world
    }

    /// The operations, which read node pools and Machines from this API.
    pub fn operations(&self) -> Arc<Operations> {
        let operations = self.backend.operations.clone();
        operations.bridge.set(BridgeStatus::Leading);
        operations.bridge.read_node_pools_by(Arc::new(NodePoolLooks {
            client: self.backend.client.clone(),
            namespaces: Namespaces::default(),
        }));
        operations
    }

    /// Creates the InfraEnv of all Agents, which gives its hosts to AgentMachines of this namespace.
    pub async fn infra_env(&self, open_to: Option<&str>) {
        let infra_env = json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": INFRA_ENV, "annotations": {"infraenv.agent-install.openshift.io/agents-for-namespaces": open_to}},
            "spec": {"pullSecretRef": {"name": "pull"}},
        });
        let api = Api::<InfraEnv>::namespaced(self.backend.client.clone(), AGENTS);
        let params = PatchParams::default();
        if api.get_opt(INFRA_ENV).await.unwrap().is_none() {
            let infra_env = serde_json::from_value(infra_env).unwrap();
            api.create(&PostParams::default(), &infra_env).await.unwrap();
            return;
        }
        api.patch(INFRA_ENV, &params, &Patch::Merge(infra_env))
            .await
            .unwrap();
    }

    pub async fn namespace(&self, name: &str) {
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        let api = Api::<Namespace>::all(self.backend.client.clone());
        api.create(&PostParams::default(), &namespace).await.unwrap();
    }

    pub fn api<K: Kind>(&self) -> Api<K> {
        Api::namespaced(self.backend.client.clone(), NAMESPACE)
    }

    pub fn agents(&self) -> Api<Agent> {
        Api::namespaced(self.backend.client.clone(), AGENTS)
    }

    pub fn quotas(&self) -> Api<AgentQuota> {
        Api::namespaced(self.backend.client.clone(), AGENTS)
    }

    /// Creates a quota of the Agents; an error is the API server's refusal.
    pub async fn quota(&self, name: &str, spec: Value) -> kube::Result<AgentQuota> {
        let quota = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "AgentQuota", "metadata": {"name": name}, "spec": spec,
        });
        let quota = serde_json::from_value(quota).unwrap();
        self.quotas().create(&PostParams::default(), &quota).await
    }

    fn dynamic(&self, kind: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.backend.client.clone(), NAMESPACE, kind)
    }

    pub fn machines(&self) -> Api<DynamicObject> {
        self.dynamic(&of_cluster_api("Machine", "machines"))
    }

    pub async fn find<K: Kind>(&self, name: &str) -> Option<K> {
        self.api::<K>().get_opt(name).await.unwrap()
    }

    pub async fn get<K: Kind>(&self, name: &str) -> K {
        self.api::<K>().get(name).await.unwrap()
    }

    pub async fn delete<K: Kind>(&self, name: &str) {
        self.api::<K>()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    pub async fn create<K: Kind>(&self, object: Value) -> K {
        let object: K = serde_json::from_value(object).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap()
    }

    async fn create_dynamic(&self, kind: &ApiResource, object: Value) -> DynamicObject {
        let mut object: DynamicObject = serde_json::from_value(object).unwrap();
        let types = DynamicObject::new("", kind).types;
        object.types = types;
        let made = self
            .dynamic(kind)
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
        if object.data.get("status").is_some() {
            let patch = Patch::Merge(json!({"status": object.data["status"]}));
            let name = object.name_any();
            self.dynamic(kind)
                .patch_status(&name, &PatchParams::default(), &patch)
                .await
                .unwrap();
        }
        made
    }

    /// Creates an Agent that is fit, except as set in `of`: `approved`, `labels`, `cluster`, `taken` (name and
    /// namespace), `namespace`.
    pub async fn agent(&self, name: &str, of: &Value) {
        let mut labels = of["labels"].as_object().cloned().unwrap_or_default();
        labels.insert("infraenvs.agent-install.openshift.io".into(), INFRA_ENV.into());
        let mut annotations = json!({});
        if let Some(machine) = of["taken"][0].as_str() {
            labels.insert("agentMachineRef".into(), machine.into());
            annotations["agentMachineRefNamespace"] = of["taken"][1].clone();
        }
        let mut spec = json!({
            "approved": of["approved"].as_bool().unwrap_or(true), "role": "", "hostname": format!("{name}.example.test"),
        });
        if let Some(cluster) = of["cluster"].as_str() {
            spec["clusterDeploymentName"] = json!({"name": cluster, "namespace": NAMESPACE});
        }
        let agent: Agent = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": labels, "annotations": annotations}, "spec": spec,
        }))
        .unwrap();
        let namespace = of["namespace"].as_str().unwrap_or(AGENTS);
        let api = Api::<Agent>::namespaced(self.backend.client.clone(), namespace);
        api.create(&PostParams::default(), &agent).await.unwrap();
        write_agent_status(&api, name, &json!({}), "known-unbound").await;
    }

    /// Writes the conditions of a fit Agent, except for `changed`.
    pub async fn agent_status(&self, name: &str, changed: &Value, state: &str) {
        write_agent_status(&self.agents(), name, changed, state).await;
    }

    /// Sets architecture and failures of a fit Agent.
    pub async fn agent_past(&self, name: &str, architecture: &str, failures: &Value) {
        let status = json!({
            "failures": failures, "inventory": {"cpu": {"count": 8, "architecture": architecture}},
        });
        let patch = Patch::Merge(json!({"status": status}));
        self.agents()
            .patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Sets the stage of the sleep of the Agent's host.
    pub async fn agent_sleep(&self, name: &str, stage: &str) {
        let sleep = json!({"stage": stage, "message": format!("{name} is {stage}")});
        let patch = Patch::Merge(json!({"status": {"sleep": sleep}}));
        self.agents()
            .patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Sets the state of the Agent's host to installed.
    pub async fn installed(&self, name: &str) {
        let conditions = json!({"Bound": "True", "Installed": "True"});
        self.agent_status(name, &conditions, "added-to-existing-cluster")
            .await;
    }

    /// Sets the state of the Agent's host to started from its disk, whose node is not Ready yet.
    pub async fn rebooted(&self, name: &str) {
        let patch = Patch::Merge(json!({"status": {"progress": {"currentStage": "Rebooting"}}}));
        let agents = self.agents();
        agents
            .patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
        let conditions = json!({"Bound": "True"});
        self.agent_status(name, &conditions, "installing-in-progress")
            .await;
    }

    /// Sets how far the Agent's host has left the cluster.
    pub async fn left(&self, name: &str, state: &str) {
        self.agent_status(name, &json!({"Bound": "False"}), state).await;
    }

    /// Returns the status of the AgentMachine once it is ready.
    pub async fn await_ready(&self, name: &str) -> AgentMachineStatus {
        eventually(&format!("{name} to be ready"), async || {
            let machine: AgentMachine = self.get(name).await;
            machine.status.filter(|status| status.ready)
        })
        .await
    }

    pub async fn get_agent(&self, name: &str) -> Agent {
        self.agents().get(name).await.unwrap()
    }

    /// Binds the Agent to a ClusterDeployment, as the service does for a node whose Agent it makes again.
    pub async fn bind_agent(&self, name: &str, cluster: &str) {
        let reference = json!({"name": cluster, "namespace": NAMESPACE});
        let patch = Patch::Merge(json!({"spec": {"clusterDeploymentName": reference}}));
        self.agents()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    pub async fn label_agent(&self, name: &str, key: &str, value: &str) {
        let patch = Patch::Merge(json!({"metadata": {"labels": {key: value}}}));
        self.agents()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Creates a Cluster without a control plane, and its AgentCluster.
    pub async fn cluster(&self, name: &str) {
        self.cluster_with(
            name,
            json!({"controlPlaneEndpoint": {"host": "api.example.test", "port": 6443}}),
            json!({}),
        )
        .await;
    }

    /// Creates a Cluster whose API is to be at this port, with a control plane that is not there yet.
    pub async fn kubeadm_cluster(&self, name: &str, port: u16) {
        let spec = json!({
            "controlPlaneEndpoint": {"host": "127.0.0.1", "port": port},
            "controlPlaneRef": {
                "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": name,
            },
        });
        self.cluster_with(name, spec, json!({})).await;
    }

    /// Creates the Cluster of a HostedCluster without a control plane yet.
    pub async fn hosted_cluster(&self, name: &str) {
        let kind = of_hypershift("HostedCluster", "hostedclusters");
        let hosted = json!({
            "metadata": {"name": name}, "spec": {"platform": {"type": "Agent", "agent": {"agentNamespace": AGENTS}}},
        });
        self.create_dynamic(&kind, hosted).await;
        let control_plane = json!({"controlPlaneRef": {
            "apiGroup": "hypershift.openshift.io", "kind": "HostedControlPlane", "name": name,
        }});
        let annotations = json!({"hypershift.openshift.io/cluster": format!("{NAMESPACE}/{name}")});
        self.cluster_with(name, control_plane, annotations).await;
    }

    async fn cluster_with(&self, name: &str, more: Value, annotations: Value) {
        let mut spec = json!({"infrastructureRef": {
            "apiGroup": "capi-provider.agent-install.openshift.io", "kind": "AgentCluster", "name": name,
        }});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        // The namespace of the Agents is known for a HostedCluster.
        let agents_in = match annotations.as_object() {
            Some(named) if named.is_empty() => {
                json!({"capi-provider.agent-install.openshift.io/agent-namespace": AGENTS})
            }
            _ => json!({}),
        };
        let object = json!({"metadata": {"name": name, "annotations": annotations}, "spec": spec});
        let made = self
            .create_dynamic(&of_cluster_api("Cluster", "clusters"), object)
            .await;
        self.create::<AgentCluster>(json!({
            "metadata": {
                "name": name, "ownerReferences": [owner(&made, "Cluster")],
                "annotations": agents_in,
            },
            "spec": {"ignitionEndpoint": {"url": "https://ignition.example.test:31111/ignition"}},
        }))
        .await;
    }

    /// Creates HyperShift's control plane, complete.
    pub async fn control_plane(&self, name: &str) {
        let object = json!({
            "metadata": {"name": name},
            "spec": {"dns": {"baseDomain": "example.test"}, "pullSecret": {"name": "pull-secret"}},
            "status": {"kubeConfig": {"name": "admin-kubeconfig", "key": "kubeconfig"}},
        });
        self.create_dynamic(
            &of_hypershift("HostedControlPlane", "hostedcontrolplanes"),
            object,
        )
        .await;
    }

    /// Creates an AgentCluster that no Cluster owns.
    pub async fn agent_cluster(&self, name: &str, mut metadata: Value) {
        metadata["name"] = name.into();
        self.create::<AgentCluster>(json!({"metadata": metadata, "spec": {}}))
            .await;
    }

    /// Creates an AgentMachineTemplate whose Machines take the Agents that `selector` selects.
    pub async fn template(&self, name: &str, selector: Value) {
        let agents_in = json!({"capi-provider.agent-install.openshift.io/agent-namespace": AGENTS});
        self.create::<AgentMachineTemplate>(json!({
            "metadata": {"name": name},
            "spec": {"template": {"metadata": {"annotations": agents_in}, "spec": {"agentLabelSelector": selector}}},
        }))
        .await;
    }

    /// Sets an annotation.
    pub async fn annotate<K: Kind>(&self, name: &str, key: &str, value: &str) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {key: value}}}));
        self.api::<K>()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Sets the address of the cluster's API.
    pub async fn endpoint(&self, cluster: &str) {
        let patch = json!({"spec": {"controlPlaneEndpoint": {"host": "192.0.2.1", "port": 6443}}});
        let api = self.api::<AgentCluster>();
        api.patch(cluster, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    pub async fn foreign_deployment(&self, name: &str) {
        self.create::<ClusterDeployment>(json!({
            "metadata": {"name": name},
            "spec": {"clusterName": name, "baseDomain": "example.test", "platform": {}},
        }))
        .await;
    }

    pub async fn pause_cluster(&self, name: &str, paused: bool) {
        let patch = Patch::Merge(json!({"spec": {"paused": paused}}));
        let api = self.dynamic(&of_cluster_api("Cluster", "clusters"));
        api.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Creates, or replaces, a bootstrap Secret.
    pub async fn bootstrap(&self, name: &str, value: &Value) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if self.find::<Secret>(name).await.is_none() {
            self.create::<Secret>(json!({"metadata": {"name": name}, "stringData": {"value": value}}))
                .await;
            return;
        }
        let patch = Patch::Merge(json!({"stringData": {"value": value}}));
        self.api::<Secret>()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Deletes a Cluster, without what it consists of.
    pub async fn delete_cluster(&self, name: &str) {
        let api = self.dynamic(&of_cluster_api("Cluster", "clusters"));
        api.delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Creates a Machine of the Cluster `one`; `of`: `selector`, `failureDomain`, `version`, `osImage`, `architecture`,
    /// `providerID`, `controlPlane`, `annotations` of the AgentMachine.
    pub async fn machine(&self, name: &str, data: &str, of: &Value) {
        self.machine_of("one", name, data, of).await;
    }

    pub async fn machine_of(&self, cluster: &str, name: &str, data: &str, of: &Value) {
        let mut labels = json!({"cluster.x-k8s.io/cluster-name": cluster});
        if of["controlPlane"] == true {
            labels["cluster.x-k8s.io/control-plane"] = json!("");
        }
        let mut machine = json!({
            "metadata": {"name": name, "labels": labels, "finalizers": ["machine.cluster.x-k8s.io"]},
            "spec": {
                "clusterName": cluster, "bootstrap": {"dataSecretName": data},
                "infrastructureRef": {
                    "apiVersion": "capi-provider.agent-install.openshift.io/v1beta1", "kind": "AgentMachine",
                    "name": name, "namespace": NAMESPACE,
                },
            },
        });
        if of["failureDomain"].is_string() {
            machine["spec"]["failureDomain"] = of["failureDomain"].clone();
        }
        if of["version"].is_string() {
            machine["spec"]["version"] = of["version"].clone();
        }
        let made = self.create_dynamic(&old_machine(), machine).await;
        self.create::<AgentMachine>(json!({
            "metadata": {
                "name": name, "labels": labels, "ownerReferences": [owner(&made, "Machine")],
                "annotations": of["annotations"],
            },
            "spec": {
                "agentLabelSelector": of["selector"], "osImage": of["osImage"], "architecture": of["architecture"],
                "providerID": of["providerID"],
            },
        }))
        .await;
    }

    pub async fn get_machine(&self, name: &str) -> DynamicObject {
        self.machines().get(name).await.unwrap()
    }

    pub async fn delete_machine(&self, name: &str) {
        self.machines()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    /// Sets the state after Cluster API has drained the node.
    pub async fn awaits_hook(&self, name: &str) {
        let conditions = json!([{
            "type": "Deleting", "status": "True", "reason": "WaitingForPreTerminateHook", "message": "",
            "lastTransitionTime": "2026-11-22T08:00:00Z",
        }]);
        let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
        self.machines()
            .patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    pub async fn remove_hook(&self, name: &str, hook: &str) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {hook: null}}}));
        let machines = self.machines();
        machines
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Pauses the AgentMachine; `None`: ends the pause.
    pub async fn annotate_machine(&self, name: &str, paused: Option<&str>) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": paused}}}));
        self.api::<AgentMachine>()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Returns the AgentMachine once it has an Agent, a provider id and addresses.
    pub async fn await_taken(&self, name: &str) -> AgentMachine {
        eventually(&format!("{name} to take an Agent"), async || {
            let machine: AgentMachine = self.get(name).await;
            let is_taken = machine
                .status
                .as_ref()
                .is_some_and(|status| status.agent_ref.is_some());
            is_taken.then_some(machine)
        })
        .await
    }
}

async fn write_agent_status(api: &Api<Agent>, name: &str, changed: &Value, state: &str) {
    let fit = [
        ("SpecSynced", "True"),
        ("Connected", "True"),
        ("RequirementsMet", "True"),
        ("Validated", "True"),
        ("Installed", "False"),
        ("Bound", "False"),
    ];
    let conditions = fit.map(|(type_, status)| {
        let status = changed[type_].as_str().unwrap_or(status);
        let reason = if type_ == "Installed" && status == "False" {
            "InstallationNotStarted"
        } else {
            "Played"
        };
        json!({"type": type_, "status": status, "reason": reason, "message": ""})
    });
    let status = json!({
        "conditions": conditions, "debugInfo": {"state": state},
        "inventory": {"hostname": name, "cpu": {"count": 8, "architecture": "x86_64"}, "memory": {"physicalBytes": 17_179_869_184_i64}, "interfaces": [{
            "name": "eth0", "hasCarrier": true, "flags": [],
            "ipV4Addresses": ["192.0.2.7/24"], "ipV6Addresses": ["fe80::7/64", "2001:db8::7/64"],
        }]},
    });
    let patch = Patch::Merge(json!({"status": status}));
    api.patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

fn owner(object: &DynamicObject, kind: &str) -> Value {
    json!({
        "apiVersion": object.types.as_ref().unwrap().api_version, "kind": kind, "name": object.name_any(), "uid": object.uid(),
    })
}
