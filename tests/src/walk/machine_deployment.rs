//! The walk on a real API server: a MachineDeployment of Cluster API's own controllers makes nodes of hosts, and hosts of
//! nodes.

use std::time::Duration;

use serde_json::{Value, json};

use super::api::{Api, nodes_path};
use super::hub::{HARDWARE, Hub, is, summary};
use super::objects;
use crate::artifacts::muster_program;
use crate::kube::{ControlPlane, Kubectl, Workload};
use crate::process::{command, run};
use crate::qemu::USER_NETWORK_HOST;

/// The namespace of Cluster API's objects, and the name of each.
const NAMESPACE: &str = "workers";
const NAME: &str = "lab";
const PROVIDER: &str = "capi-provider.agent-install.openshift.io";
/// The first bootstrap data, and the Secret with it.
const CONFIG: &str = "plain";

/// A Cluster with a MachineDeployment, and the cluster that its machines join.
pub struct MachineDeploymentWalk<'a> {
    /// In [`NAMESPACE`].
    kubectl: Kubectl,
    nodes: Api,
    hub: &'a Hub,
    workload: &'a Workload,
}

/// Applies our kinds, and those that we read; Cluster API has applied its own.
///
/// # Panics
/// If the server refuses one.
#[track_caller]
pub fn apply_our_crds(plane: &ControlPlane) {
    let crds = run(command(muster_program()).args(["crds", "--all"]));
    let ours: Vec<&str> = crds
        .split("\n---")
        .filter(|document| !document.contains("\n  group: cluster.x-k8s.io"))
        .collect();
    let kubectl = plane.kubectl();
    kubectl.run_with(
        &["apply", "--server-side", "--force-conflicts", "-f", "-"],
        &ours.join("\n---"),
    );
    kubectl.apply(&[control_plane_crd()]);
    kubectl.apply(&may_read_control_planes());
    kubectl.await_kinds();
}

/// The right that an administrator adds for a kind of control planes that is not in a group of Cluster API's (deploy/README.md).
fn may_read_control_planes() -> [Value; 2] {
    let (name, rbac) = ("muster-control-planes", "rbac.authorization.k8s.io");
    [
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": ["controlplane.lab.example"], "resources": ["labcontrolplanes"], "verbs": ["get"]}],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "muster", "namespace": "muster"}],
        }),
    ]
}

/// A kind for the control plane, which another operator manages.
fn control_plane_crd() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "labcontrolplanes.controlplane.lab.example", "labels": {"cluster.x-k8s.io/v1beta1": "v1beta1"},
        },
        "spec": {
            "group": "controlplane.lab.example", "scope": "Namespaced",
            "names": {"kind": "LabControlPlane", "plural": "labcontrolplanes", "singular": "labcontrolplane"},
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

impl<'a> MachineDeploymentWalk<'a> {
    /// The namespace of the Cluster.
    pub const NAMESPACE: &'static str = NAMESPACE;

    /// Applies the Cluster, with an existing control plane, and the MachineDeployment without replicas.
    #[track_caller]
    pub fn begin(hub: &'a Hub, workload: &'a Workload) -> Self {
        let walk = Self {
            kubectl: hub.kubectl.namespace(NAMESPACE),
            nodes: Api::real(workload.plane()),
            hub,
            workload,
        };
        walk.apply();
        walk
    }

    #[track_caller]
    fn apply(&self) {
        self.kubectl.apply(&[objects::namespace(NAMESPACE)]);
        self.hub.give_hosts_to(NAMESPACE);
        let role = "muster-capi-secrets";
        let (role_of, account) = (format!("--clusterrole={role}"), "--serviceaccount=muster:muster");
        self.kubectl
            .run(&["create", "rolebinding", role, &role_of, account]);
        let bootstrap_data = self.workload.worker_config(CONFIG).to_string();
        self.kubectl.apply(&[
            typed_secret(CONFIG, &json!({"value": bootstrap_data, "format": "ignition"})),
            typed_secret(
                &format!("{NAME}-kubeconfig"),
                &json!({"value": self.workload.kubeconfig()}),
            ),
            json!({
                "apiVersion": "controlplane.lab.example/v1beta1", "kind": "LabControlPlane",
                "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": cluster_label()}, "spec": {},
            }),
        ]);
        self.kubectl.apply(&self.cluster());
        let ready = json!({"status": {
            "ready": true, "initialized": true, "externalManagedControlPlane": true,
            "initialization": {"controlPlaneInitialized": true},
        }});
        self.kubectl.run(&[
            "patch",
            "labcontrolplane",
            NAME,
            "--subresource=status",
            "--type=merge",
            "-p",
            &ready.to_string(),
        ]);
    }

    fn cluster(&self) -> [Value; 4] {
        let provider = PROVIDER;
        let url = self.workload.plane().url_for_machines();
        let port: Option<u16> = url.rsplit(':').next().and_then(|port| port.parse().ok());
        let endpoint = json!({"host": USER_NETWORK_HOST, "port": port});
        let metadata = json!({"name": NAME, "namespace": NAMESPACE});
        let mut in_hardware = metadata.clone();
        in_hardware["annotations"] = json!({format!("{provider}/agent-namespace"): HARDWARE});
        let labels = json!({"cluster.x-k8s.io/cluster-name": NAME, "lab": "workers"});
        [
            json!({
                "apiVersion": format!("{provider}/v1beta1"), "kind": "AgentCluster",
                "metadata": in_hardware, "spec": {"controlPlaneEndpoint": endpoint},
            }),
            json!({
                "apiVersion": format!("{provider}/v1beta1"), "kind": "AgentMachineTemplate",
                "metadata": metadata, "spec": {"template": {"spec": {}}},
            }),
            json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata,
                "spec": {
                    "controlPlaneEndpoint": endpoint,
                    "infrastructureRef": {"apiGroup": provider, "kind": "AgentCluster", "name": NAME},
                    "controlPlaneRef": {
                        "apiGroup": "controlplane.lab.example", "kind": "LabControlPlane", "name": NAME,
                    },
                },
            }),
            json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": metadata,
                "spec": {
                    "clusterName": NAME, "replicas": 0, "selector": {"matchLabels": labels},
                    "rollout": {"strategy": {
                        "type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
                    }},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {
                            "clusterName": NAME, "bootstrap": {"dataSecretName": CONFIG},
                            "infrastructureRef": {
                                "apiGroup": provider, "kind": "AgentMachineTemplate", "name": NAME,
                            },
                            "deletion": {"nodeDrainTimeoutSeconds": 60},
                        },
                    },
                },
            }),
        ]
    }

    /// As a user types it.
    #[track_caller]
    pub fn scale(&self, replicas: usize) {
        let resource = format!("machinedeployments.cluster.x-k8s.io/{NAME}");
        self.kubectl
            .run(&["scale", &resource, &format!("--replicas={replicas}")]);
    }

    /// Deletes all Machines without waiting: the MachineDeployment creates others.
    #[track_caller]
    pub fn delete_machines(&self) {
        self.kubectl
            .run(&["delete", "machines.cluster.x-k8s.io", "--all", "--wait=false"]);
    }

    /// Has unhealthy Machines remediated: the host is rebooted once, the Machine has a minute to become healthy, and then it is replaced.
    #[track_caller]
    pub fn check_health(&self) {
        let (provider, template) = (format!("{PROVIDER}/v1beta1"), "AgentRemediationTemplate");
        let metadata = json!({"name": NAME, "namespace": NAMESPACE});
        let not_ready = ["Unknown", "False"]
            .map(|status| json!({"type": "Ready", "status": status, "timeoutSeconds": 5}));
        self.kubectl.apply(&[
            json!({
                "apiVersion": provider, "kind": template, "metadata": metadata,
                "spec": {"template": {"spec": {"strategy": {"type": "Reboot", "retryLimit": 1, "timeout": "1m"}}}},
            }),
            json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": metadata,
                "spec": {
                    "clusterName": NAME, "selector": {"matchLabels": {"lab": "workers"}},
                    "checks": {"nodeStartupTimeoutSeconds": 7200, "unhealthyNodeConditions": not_ready},
                    "remediation": {"templateRef": {"apiVersion": provider, "kind": template, "name": NAME}},
                },
            }),
        ]);
    }

    /// Path of the list of the provider's objects of a kind.
    pub fn list_of(plural: &str) -> String {
        format!("/apis/{PROVIDER}/v1beta1/namespaces/{NAMESPACE}/{plural}")
    }

    /// Waits until there are so many Machines and they are Running with a Node that is Ready, and no other Node is
    /// left; checks that Nodes, Machines and AgentMachines have the same providerIDs. Returns these. `look` is called
    /// all the time.
    ///
    /// # Panics
    /// After `limit`.
    #[track_caller]
    pub fn await_nodes(&self, count: usize, limit: Duration, mut look: impl FnMut()) -> Vec<String> {
        let what = format!("{count} Nodes to be left");
        let nodes = self.nodes.await_in(&what, nodes_path(), limit, |nodes| {
            look();
            if nodes.len() == count && nodes.iter().all(|node| is(node, "Ready", "True")) {
                Ok(nodes.to_vec())
            } else {
                let agents = self.hub.api.list(&Hub::agents_path())?;
                let seen = nodes.iter().map(Value::to_string);
                let seen = seen.chain(agents.iter().map(summary));
                Err(seen.take(8).collect::<Vec<_>>().join("\n"))
            }
        });
        let machines = format!("/apis/cluster.x-k8s.io/v1beta2/namespaces/{NAMESPACE}/machines");
        let what = format!("{count} Machines to be Running");
        let machines = self.hub.api.await_in(&what, &machines, limit, |machines| {
            look();
            let run = |machine: &&Value| {
                machine["status"]["phase"] == "Running" && machine["status"]["nodeRef"]["name"].is_string()
            };
            if machines.len() == count && machines.iter().filter(run).count() == count {
                Ok(machines.to_vec())
            } else {
                let agents = self.hub.api.list(&Hub::agents_path())?;
                let seen = machines.iter().map(|one| one["status"].to_string());
                let seen = seen.chain(agents.iter().map(summary));
                Err(seen.take(8).collect::<Vec<_>>().join("\n"))
            }
        });
        let agent_machines = self
            .hub
            .api
            .list(&Self::list_of("agentmachines"))
            .unwrap_or_default();
        objects::assert_provider_ids(&nodes, &machines, &agent_machines)
    }
}

fn cluster_label() -> Value {
    json!({"cluster.x-k8s.io/cluster-name": NAME})
}

/// A Secret that Cluster API accepts as the Cluster's.
fn typed_secret(name: &str, data: &Value) -> Value {
    let mut secret = objects::secret(NAMESPACE, name, data);
    secret["metadata"]["labels"] = cluster_label();
    secret["type"] = json!("cluster.x-k8s.io/secret");
    secret
}
