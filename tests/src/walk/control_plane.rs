//! A cluster of KubeadmControlPlane whose machines are Agents: hosts of a fleet, which nothing boots, and played nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::hub::{Hub, hostname, name, summary};
use super::objects;
use crate::condition::await_every;
use crate::kube::{Kubectl, Played, PlayedControlPlanes, PlayedMachine};

/// The namespace of Cluster API's objects, and the name of each.
const NAMESPACE: &str = "planes";
const NAME: &str = "lab";
const PROVIDER: &str = "capi-provider.agent-install.openshift.io";
const VERSION: &str = "v1.34.4";
/// Between two observations.
const INTERVAL: Duration = Duration::from_millis(500);

/// A Cluster with a KubeadmControlPlane.
pub struct ControlPlaneWalk<'a> {
    /// In [`NAMESPACE`].
    kubectl: Kubectl,
    hub: &'a Hub,
    played: &'a PlayedControlPlanes,
    /// Name of the KubeadmControlPlane.
    control_plane: String,
    /// Number of Machines beside those of the control plane.
    workers: usize,
    nodes: Nodes,
}

/// Nodes that were booted, with their Machine and their Agent.
#[derive(Debug, Default)]
pub struct Nodes(BTreeMap<String, Booted>);

#[derive(Debug)]
struct Booted {
    machine: String,
    agent: String,
}

/// What stands at one moment.
#[derive(Debug)]
pub struct Observation {
    pub machines: Vec<Value>,
    pub agent_machines: Vec<Value>,
    pub agents: Vec<Value>,
    pub cluster: Played,
    pub control_plane: Value,
}

impl Observation {
    /// The Nodes of the control plane's Machines, sorted.
    fn nodes_of_control_plane(&self) -> Vec<String> {
        let machines = self.machines.iter().filter(|machine| is_control_plane(machine));
        let nodes = machines.filter_map(|machine| machine["status"]["nodeRef"]["name"].as_str());
        let mut nodes: Vec<String> = nodes.map(str::to_owned).collect();
        nodes.sort();
        nodes
    }
}

/// Lets Muster hand bootstrap data to Agents.
#[track_caller]
fn bind_secrets(kubectl: &Kubectl) {
    let role = "muster-capi-secrets";
    let (role_of, account) = (format!("--clusterrole={role}"), "--serviceaccount=muster:muster");
    kubectl.run(&["create", "rolebinding", role, &role_of, account]);
}

/// True for a Machine or AgentMachine of the control plane.
fn is_control_plane(object: &Value) -> bool {
    object["metadata"]["labels"]["cluster.x-k8s.io/control-plane"].is_string()
}

impl<'a> ControlPlaneWalk<'a> {
    /// Namespace and name of the Cluster.
    pub const CLUSTER: (&'static str, &'static str) = (NAMESPACE, NAME);
    /// The version of Kubernetes of its machines.
    pub const VERSION: &'static str = VERSION;

    /// Applies the Cluster, and a control plane of one machine made from the template `first`; kubeadm's bootstrap data are
    /// in `format` (`cloud-config` or `ignition`).
    #[track_caller]
    pub fn begin(hub: &'a Hub, played: &'a PlayedControlPlanes, format: &str) -> Self {
        let walk = Self {
            kubectl: hub.kubectl.namespace(NAMESPACE),
            hub,
            played,
            control_plane: NAME.to_owned(),
            workers: 0,
            nodes: Nodes::default(),
        };
        walk.kubectl.apply(&[objects::namespace(NAMESPACE)]);
        hub.give_hosts_to(NAMESPACE);
        bind_secrets(&walk.kubectl);
        walk.template("first", &json!({}));
        walk.kubectl.apply(&walk.cluster(format));
        walk
    }

    /// Applies the manifests that `clusterctl generate cluster` prints [for one](ControlPlaneWalk::CLUSTER), with a control plane of one
    /// machine and so many workers. The hub's hosts are in another namespace, so the AgentCluster names it.
    #[track_caller]
    pub fn of_manifests(
        hub: &'a Hub,
        played: &'a PlayedControlPlanes,
        manifests: &str,
        workers: usize,
    ) -> Self {
        let walk = Self {
            kubectl: hub.kubectl.namespace(NAMESPACE),
            hub,
            played,
            control_plane: format!("{NAME}-control-plane"),
            workers,
            nodes: Nodes::default(),
        };
        walk.kubectl.apply(&[objects::namespace(NAMESPACE)]);
        hub.give_hosts_to(NAMESPACE);
        walk.kubectl.file("cluster.yaml", manifests);
        let annotation = json!({format!("{PROVIDER}/agent-namespace"): super::hub::HARDWARE});
        let patch = json!({
            "apiVersion": format!("{PROVIDER}/v1beta1"), "kind": "AgentCluster",
            "metadata": {"name": NAME, "namespace": NAMESPACE, "annotations": annotation},
        });
        let kustomization =
            json!({"resources": ["cluster.yaml"], "patches": [{"patch": patch.to_string()}]}).to_string();
        let file = walk.kubectl.file("kustomization.yaml", &kustomization);
        walk.kubectl
            .run(&["apply", "-k", file.trim_end_matches("/kustomization.yaml")]);
        walk
    }

    /// Goes on with the nodes of a walk on another API server, to which the hub has moved.
    #[track_caller]
    pub fn of_nodes(
        hub: &'a Hub,
        played: &'a PlayedControlPlanes,
        nodes: Nodes,
        (control_plane, workers): (String, usize),
    ) -> Self {
        hub.give_hosts_to(NAMESPACE);
        let kubectl = hub.kubectl.namespace(NAMESPACE);
        bind_secrets(&kubectl);
        Self {
            kubectl,
            hub,
            played,
            control_plane,
            workers,
            nodes,
        }
    }

    /// Ends the walk on this API server: its nodes, the name of the control plane and the number of workers.
    pub fn into_nodes(self) -> (Nodes, (String, usize)) {
        (self.nodes, (self.control_plane, self.workers))
    }

    /// An AgentMachineTemplate of this name, with that spec of its AgentMachines.
    #[track_caller]
    fn template(&self, name: &str, spec: &Value) {
        self.kubectl.apply(&[json!({
            "apiVersion": format!("{PROVIDER}/v1beta1"), "kind": "AgentMachineTemplate",
            "metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"template": {"spec": spec}},
        })]);
    }

    fn cluster(&self, format: &str) -> [Value; 3] {
        let endpoint = json!({"host": "127.0.0.1", "port": self.played.port()});
        let metadata = json!({"name": NAME, "namespace": NAMESPACE});
        let mut in_hardware = metadata.clone();
        in_hardware["annotations"] = json!({format!("{PROVIDER}/agent-namespace"): super::hub::HARDWARE});
        [
            json!({
                "apiVersion": format!("{PROVIDER}/v1beta1"), "kind": "AgentCluster",
                "metadata": in_hardware, "spec": {"controlPlaneEndpoint": endpoint},
            }),
            json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata,
                "spec": {
                    "controlPlaneEndpoint": endpoint,
                    "infrastructureRef": {"apiGroup": PROVIDER, "kind": "AgentCluster", "name": NAME},
                    "controlPlaneRef": {
                        "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": NAME,
                    },
                },
            }),
            json!({
                "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": metadata,
                "spec": {
                    "replicas": 1, "version": VERSION,
                    "machineTemplate": {"spec": {"infrastructureRef": {
                        "apiGroup": PROVIDER, "kind": "AgentMachineTemplate", "name": "first",
                    }}},
                    "kubeadmConfigSpec": {
                        "format": format,
                        "preKubeadmCommands": ["swapoff -a"],
                    },
                },
            }),
        ]
    }

    /// Sets the number of control planes.
    #[track_caller]
    pub fn scale(&self, replicas: usize) {
        self.patch_control_plane(&json!({"replicas": replicas}));
    }

    /// Sets the number of workers of the only MachineDeployment.
    #[track_caller]
    pub fn scale_workers(&mut self, replicas: usize) {
        self.workers = replicas;
        let replicas = format!("--replicas={replicas}");
        let deployment = format!("machinedeployments.cluster.x-k8s.io/{NAME}-md-0");
        self.kubectl.run(&["scale", &deployment, &replicas]);
    }

    /// Rolls out to a new template.
    #[track_caller]
    pub fn roll_out_to(&self, template: &str) {
        self.roll_out(template, &json!({}), &json!({}));
    }

    /// Rolls out to a new template whose machines have that OS image, without a machine more than before: one goes before the next comes.
    #[track_caller]
    pub fn roll_out_in_place_of(&self, template: &str, os_image: &str) {
        let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}});
        self.roll_out(
            template,
            &json!({"osImage": os_image}),
            &json!({"rollout": {"strategy": strategy}}),
        );
    }

    /// Rolls out to a new template with that spec of its AgentMachines; `more` is changed in the control plane with it.
    #[track_caller]
    fn roll_out(&self, template: &str, spec: &Value, more: &Value) {
        self.template(template, spec);
        let mut change = more.clone();
        change["machineTemplate"] = json!({"spec": {"infrastructureRef": {"name": template}}});
        self.patch_control_plane(&change);
    }

    #[track_caller]
    fn patch_control_plane(&self, spec: &Value) {
        let patch = json!({"spec": spec}).to_string();
        let control_plane = format!("kubeadmcontrolplane/{}", self.control_plane);
        self.kubectl
            .run(&["patch", &control_plane, "--type=merge", "-p", &patch]);
    }

    /// Observes until `done` returns a value, boots the machines whose hosts were installed, and holds each observation to
    /// [what must hold](Self::assert_quorum).
    ///
    /// # Panics
    /// After `limit`, or when a host was given back while etcd listed its member.
    #[track_caller]
    pub fn until<T>(
        &mut self,
        what: &str,
        limit: Duration,
        mut done: impl FnMut(&Observation) -> Result<T, String>,
    ) -> T {
        await_every(INTERVAL, what, limit, || {
            let seen = self.observe()?;
            self.assert_quorum(&seen);
            self.boot(&seen)?;
            self.end(&seen);
            done(&seen).map_err(|why| format!("{why}\n{}", describe(&seen)))
        })
    }

    fn observe(&self) -> Result<Observation, String> {
        let of = |group: &str, version: &str, plural: &str| {
            format!("/apis/{group}/{version}/namespaces/{NAMESPACE}/{plural}")
        };
        let api = &self.hub.api;
        // Members first: a host that is given back after they were read was a member's no more.
        let cluster = self.played.seen();
        let planes = of("controlplane.cluster.x-k8s.io", "v1beta2", "kubeadmcontrolplanes");
        Ok(Observation {
            agents: api.list(&Hub::agents_path())?,
            agent_machines: api.list(&of(PROVIDER, "v1beta1", "agentmachines"))?,
            machines: api.list(&of("cluster.x-k8s.io", "v1beta2", "machines"))?,
            control_plane: api.list(&planes)?.into_iter().next().unwrap_or_default(),
            cluster,
        })
    }

    /// No host is given back while etcd lists its member.
    #[track_caller]
    fn assert_quorum(&self, seen: &Observation) {
        let now = self.played.seen();
        for member in seen
            .cluster
            .members
            .iter()
            .filter(|member| now.members.contains(member))
        {
            let Some(booted) = self.nodes.0.get(member) else {
                continue;
            };
            let agent = seen.agents.iter().find(|agent| name(agent) == booted.agent);
            let bound = agent.is_some_and(|agent| agent["spec"]["clusterDeploymentName"]["name"].is_string());
            assert!(
                bound,
                "the host of {} was given back while etcd lists its member {member}:\n{}",
                booted.machine,
                describe(seen)
            );
        }
    }

    /// Boots machines whose hosts were installed.
    fn boot(&mut self, seen: &Observation) -> Result<(), String> {
        for one in &seen.agent_machines {
            let is_provisioned = one["status"]["initialization"]["provisioned"] == true;
            let is_leaving = one["metadata"]["deletionTimestamp"].is_string();
            let Some(provider_id) = one["spec"]["providerID"]
                .as_str()
                .filter(|_| is_provisioned && !is_leaving)
            else {
                continue;
            };
            let agent_name = one["status"]["agentRef"]["name"].as_str().unwrap_or_default();
            let agent = seen.agents.iter().find(|agent| name(agent) == agent_name);
            let node = agent.map(hostname).unwrap_or_default().to_owned();
            if node.is_empty() || self.nodes.0.contains_key(&node) {
                continue;
            }
            let [ca, etcd] = ["ca", "etcd"]
                .map(|which| self.kubectl.get(&["secret", &format!("{NAME}-{which}")])["data"].clone());
            self.played.boot(&PlayedMachine {
                name: &node,
                provider_id,
                version: VERSION,
                is_control_plane: is_control_plane(one),
                authorities: [&ca, &etcd],
            })?;
            let booted = Booted {
                machine: name(one).to_owned(),
                agent: agent_name.to_owned(),
            };
            self.nodes.0.insert(node, booted);
        }
        Ok(())
    }

    /// Machines whose AgentMachine is gone end in the cluster.
    fn end(&mut self, seen: &Observation) {
        let is_gone = |booted: &Booted| !seen.agent_machines.iter().any(|one| name(one) == booted.machine);
        let gone: Vec<String> = self
            .nodes
            .0
            .iter()
            .filter(|(_, booted)| is_gone(booted))
            .map(|(node, _)| node.clone())
            .collect();
        for node in gone {
            self.played.end(&node);
            self.nodes.0.remove(&node);
        }
    }

    /// Waits until so many control planes are available and up to date, members equal Machines, and no others are left.
    #[track_caller]
    pub fn await_settled(&mut self, replicas: usize, limit: Duration) {
        let what = format!("{replicas} control planes to be settled");
        let workers = self.workers;
        self.until(&what, limit, |seen| {
            let status = &seen.control_plane["status"];
            let wanted = json!(replicas);
            let counts = [
                "replicas",
                "readyReplicas",
                "availableReplicas",
                "upToDateReplicas",
            ];
            let settled = counts.iter().all(|count| status[*count] == wanted)
                && seen.control_plane["metadata"]["generation"] == status["observedGeneration"]
                && seen.machines.len() == replicas + workers
                && seen.cluster.members == seen.nodes_of_control_plane()
                && seen.cluster.members.len() == replicas
                && seen.cluster.nodes.len() == replicas + workers;
            settled.then_some(()).ok_or_else(|| "not yet".into())
        });
    }

    /// Waits until no Machine is left that was made from another template, and the control plane is settled.
    #[track_caller]
    pub fn await_rolled_out(&mut self, template: &str, replicas: usize, limit: Duration) {
        let what = format!("Machines of {template} alone");
        self.until(&what, limit, |seen| {
            let of_template = |one: &&Value| {
                let from = &one["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"];
                !is_control_plane(one) || from == template
            };
            let others = seen.agent_machines.len() - seen.agent_machines.iter().filter(of_template).count();
            (others == 0)
                .then_some(())
                .ok_or_else(|| format!("{others} others"))
        });
        self.await_settled(replicas, limit);
    }

    /// Names of the Agents that serve machines.
    pub fn agents(&self) -> Vec<String> {
        self.nodes.0.values().map(|booted| booted.agent.clone()).collect()
    }
}

/// An observation in lines, without what is secret.
fn describe(seen: &Observation) -> String {
    let conditions = |object: &Value| {
        let all = object["status"]["conditions"].as_array().into_iter().flatten();
        let untrue = all.filter(|one| one["status"] != "True");
        let texts = untrue.map(|one| format!("{}: {} {}", one["type"], one["reason"], one["message"]));
        texts.collect::<Vec<_>>().join("; ")
    };
    let of = |kind: &str, objects: &[Value]| {
        let lines = objects
            .iter()
            .map(|one| format!("{kind} {} {}", name(one), conditions(one)));
        lines.collect::<Vec<_>>().join("\n")
    };
    let bound = seen
        .agents
        .iter()
        .filter(|agent| agent["spec"]["clusterDeploymentName"].is_object());
    [
        of("KubeadmControlPlane", std::slice::from_ref(&seen.control_plane)),
        of("Machine", &seen.machines),
        of("AgentMachine", &seen.agent_machines),
        bound.map(summary).collect::<Vec<_>>().join("\n"),
        format!("{:?}", seen.cluster),
    ]
    .join("\n")
}
