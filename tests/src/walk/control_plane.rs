//! A cluster of KubeadmControlPlane whose machines are Agents: hosts of a fleet, which nothing boots, and played nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::hub::{Hub, hostname, name, state, summary};
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
    /// Of the hub's hosts, in REST.
    infra_env_id: String,
    /// Nodes that were booted, with their Machine and their Agent.
    booted: BTreeMap<String, Booted>,
}

#[derive(Debug, Clone)]
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

impl<'a> ControlPlaneWalk<'a> {
    /// Applies the Cluster, and a control plane of one machine made from the template `first`; kubeadm's bootstrap data are
    /// in `format` (`cloud-config` or `ignition`).
    #[track_caller]
    pub fn begin(hub: &'a Hub, played: &'a PlayedControlPlanes, format: &str) -> Self {
        let walk = Self {
            kubectl: hub.kubectl.namespace(NAMESPACE),
            hub,
            played,
            infra_env_id: hub.infra_env_id(),
            booted: BTreeMap::new(),
        };
        walk.kubectl.apply(&[objects::namespace(NAMESPACE)]);
        hub.give_hosts_to(NAMESPACE);
        let role = "muster-capi-secrets";
        let (role_of, account) = (format!("--clusterrole={role}"), "--serviceaccount=muster:muster");
        walk.kubectl
            .run(&["create", "rolebinding", role, &role_of, account]);
        walk.template("first");
        walk.kubectl.apply(&walk.cluster(format));
        walk
    }

    /// An AgentMachineTemplate of this name.
    #[track_caller]
    fn template(&self, name: &str) {
        self.kubectl.apply(&[json!({
            "apiVersion": format!("{PROVIDER}/v1beta1"), "kind": "AgentMachineTemplate",
            "metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"template": {"spec": {}}},
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

    /// Rolls out to a new template.
    #[track_caller]
    pub fn roll_out_to(&self, template: &str) {
        self.template(template);
        self.patch_control_plane(
            &json!({"machineTemplate": {"spec": {"infrastructureRef": {"name": template}}}}),
        );
    }

    #[track_caller]
    fn patch_control_plane(&self, spec: &Value) {
        let patch = json!({"spec": spec}).to_string();
        self.kubectl
            .run(&["patch", "kubeadmcontrolplane", NAME, "--type=merge", "-p", &patch]);
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
            self.return_hosts(&seen);
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
            let Some(booted) = self.booted.get(member) else {
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
            if node.is_empty() || self.booted.contains_key(&node) {
                continue;
            }
            let [ca, etcd] = ["ca", "etcd"]
                .map(|which| self.kubectl.get(&["secret", &format!("{NAME}-{which}")])["data"].clone());
            self.played.boot(&PlayedMachine {
                name: &node,
                provider_id,
                version: VERSION,
                is_control_plane: one["metadata"]["labels"]["cluster.x-k8s.io/control-plane"].is_string(),
                authorities: [&ca, &etcd],
            })?;
            let booted = Booted {
                machine: name(one).to_owned(),
                agent: agent_name.to_owned(),
            };
            self.booted.insert(node, booted);
        }
        Ok(())
    }

    /// Machines whose AgentMachine is gone end in the cluster.
    fn end(&mut self, seen: &Observation) {
        let is_gone = |booted: &Booted| !seen.agent_machines.iter().any(|one| name(one) == booted.machine);
        let gone: Vec<String> = self
            .booted
            .iter()
            .filter(|(_, booted)| is_gone(booted))
            .map(|(node, _)| node.clone())
            .collect();
        for node in gone {
            self.played.end(&node);
            self.booted.remove(&node);
        }
    }

    /// Machines that are given back boot the discovery image, as a fleet's agents that were rebooted do not.
    fn return_hosts(&self, seen: &Observation) {
        let given_back = seen
            .agents
            .iter()
            .filter(|agent| state(agent).starts_with("reclaiming"));
        for agent in given_back {
            let registration =
                json!({"host_id": name(agent), "discovery_agent_version": "muster-agent/0.1.0"});
            let path = format!("/infra-envs/{}/hosts", self.infra_env_id);
            self.hub.service.http().post(&path, &registration).expect(201);
        }
    }

    /// Waits until so many control planes are available and up to date, members equal Machines, and no others are left.
    #[track_caller]
    pub fn await_settled(&mut self, replicas: usize, limit: Duration) {
        let what = format!("{replicas} control planes to be settled");
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
                && seen.machines.len() == replicas
                && seen.cluster.members.len() == replicas
                && seen.cluster.nodes.len() == replicas;
            settled.then_some(()).ok_or_else(|| "not yet".into())
        });
    }

    /// Names of the Agents that serve machines.
    pub fn agents(&self) -> Vec<String> {
        self.booted.values().map(|booted| booted.agent.clone()).collect()
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
