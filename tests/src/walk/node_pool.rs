//! The walk on the built-in API: `kubectl scale nodepool` makes nodes of hosts, and hosts of nodes.

use std::time::Duration;

use serde_json::{Value, json};

use super::api::{Api, nodes_path};
use super::hub::{Hub, hostname, is, name, state, summary};
use super::{Host, objects};
use crate::install::ignition_server::IgnitionServer;
use crate::kube::{CONFIG_LABEL, Kubectl, Workload};
use crate::qemu::USER_NETWORK_HOST;

/// The namespace of HostedCluster and NodePool.
pub const CLUSTERS: &str = "clusters";
/// The HostedCluster's name and the NodePool's.
pub const POOL: &str = "vcluster2";
/// From the scale to Done: two machines download, write, boot and start a kubelet on two busy cores.
const INSTALLATION: Duration = Duration::from_secs(1500);
/// From the scale to available again: a drain, a download, a boot.
const RETURN: Duration = Duration::from_secs(900);
/// From the Node to the Machine with its providerID.
const FOLLOWING: Duration = Duration::from_secs(60);

/// A HostedCluster with a NodePool, and the cluster that its machines join.
pub struct NodePoolWalk {
    pub hub: Hub,
    pub workload: Workload,
    pub ignition: IgnitionServer,
    kubectl: Kubectl,
    nodes: Api,
}

impl NodePoolWalk {
    /// Applies the Secrets, the HostedCluster and the NodePool without replicas.
    #[track_caller]
    pub fn begin(hub: Hub) -> Self {
        Self::begin_with(hub, Workload::start())
    }

    /// The same for that workload cluster.
    #[track_caller]
    pub fn begin_with(hub: Hub, workload: Workload) -> Self {
        let ignition = IgnitionServer::start();
        let kubectl = hub.kubectl.namespace(CLUSTERS);
        hub.give_hosts_to(&format!("{CLUSTERS}-{POOL}"));
        let nodes = Api::real(workload.plane());
        let walk = Self {
            hub,
            workload,
            ignition,
            kubectl,
            nodes,
        };
        walk.kubectl.apply(&[objects::namespace(CLUSTERS)]);
        walk.kubectl.apply(&[
            objects::pull_secret(CLUSTERS, &format!("{POOL}-pull-secret")),
            objects::secret(
                CLUSTERS,
                &format!("{POOL}-admin-kubeconfig"),
                &json!({"kubeconfig": walk.workload.kubeconfig()}),
            ),
            objects::hosted_cluster(CLUSTERS, POOL, super::HARDWARE, USER_NETWORK_HOST),
            objects::node_pool(CLUSTERS, POOL, POOL, walk.hub.architecture),
        ]);
        walk
    }

    /// Assigns that config to new machines. Until [`publish`](Self::publish) the ignition server is not ready for it.
    #[track_caller]
    pub fn announce(&self, config: &str) {
        self.ignition.announce(config);
        let user_data = self.ignition.user_data(config, &format!("{CLUSTERS}/{POOL}"));
        self.kubectl.apply(&[objects::secret(
            CLUSTERS,
            &format!("user-data-{POOL}"),
            &json!({"value": user_data.to_string()}),
        )]);
    }

    /// Lets the ignition server serve that config.
    pub fn publish(&self, config: &str) {
        self.publish_with(config, []);
    }

    /// The same with more systemd units.
    ///
    /// # Panics
    /// If the config has no list of units.
    pub fn publish_with(&self, config: &str, units: impl IntoIterator<Item = Value>) {
        let mut served = self.workload.worker_config(config);
        served["systemd"]["units"]
            .as_array_mut()
            .expect("a list of units")
            .extend(units);
        self.ignition.publish(config, &served);
    }

    /// As a user types it.
    #[track_caller]
    pub fn scale(&self, replicas: usize) {
        let pool = format!("nodepool/{POOL}");
        self.kubectl
            .run(&["scale", &pool, &format!("--replicas={replicas}")]);
    }

    /// Waits until so many hosts are Done; returns their names.
    #[track_caller]
    pub fn await_done(&self, hosts: &mut [Host], count: usize) -> Vec<String> {
        let path = Hub::agents_path();
        let what = format!("{count} Agents to be Done");
        self.hub.api.await_in(&what, &path, INSTALLATION, |agents| {
            hosts.iter_mut().for_each(Host::assert_on);
            let done: Vec<String> = agents
                .iter()
                .filter(|agent| {
                    state(agent) == "added-to-existing-cluster"
                        && agent["status"]["progress"]["currentStage"] == "Done"
                })
                .map(|agent| hostname(agent).to_owned())
                .collect();
            if done.len() == count {
                Ok(done)
            } else {
                Err(agents.iter().map(summary).collect::<Vec<_>>().join("\n"))
            }
        })
    }

    /// Checks that the nodes are exactly these, Ready by a kubelet with that config on the processor of the hub's machines, and that
    /// Node, Machine and AgentMachine have one providerID.
    #[track_caller]
    pub fn assert_nodes(&self, hosts: &[String], config: &str) {
        let what = format!("{hosts:?} to be Ready nodes with {config}");
        let architecture = self.hub.architecture.debian();
        let nodes = self.nodes.await_in(&what, nodes_path(), RETURN, |nodes| {
            let mut names: Vec<&str> = nodes.iter().map(name).collect();
            let mut wanted: Vec<&str> = hosts.iter().map(String::as_str).collect();
            names.sort_unstable();
            wanted.sort_unstable();
            let fit = |node: &Value| {
                let labels = &node["metadata"]["labels"];
                is(node, "Ready", "True")
                    && labels[CONFIG_LABEL] == config
                    && labels["kubernetes.io/arch"] == architecture
            };
            if names == wanted && nodes.iter().all(fit) {
                Ok(nodes.to_vec())
            } else {
                Err(nodes.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"))
            }
        });
        self.assert_provider_ids(&nodes);
    }

    /// Checks that these hosts are nodes, each claimed once.
    #[track_caller]
    pub fn assert_machines(&self, hosts: &[String]) {
        let nodes = self.nodes.list(nodes_path()).unwrap_or_default();
        assert_eq!(nodes.len(), hosts.len());
        self.assert_provider_ids(&nodes);
    }

    /// The Node exists first; Machine and AgentMachine follow.
    #[track_caller]
    fn assert_provider_ids(&self, nodes: &[Value]) {
        let namespace = format!("{CLUSTERS}-{POOL}");
        let machines = format!("/apis/cluster.x-k8s.io/v1beta1/namespaces/{namespace}/machines");
        let provider = "/apis/capi-provider.agent-install.openshift.io/v1beta1";
        let agent_machines = format!("{provider}/namespaces/{namespace}/agentmachines");
        let whole = |path: &str| {
            let what = format!("{} providerIDs at {path}", nodes.len());
            self.hub.api.await_in(&what, path, FOLLOWING, |objects| {
                let missing = |one: &&Value| !one["spec"]["providerID"].is_string();
                match objects.iter().find(missing) {
                    None if objects.len() == nodes.len() => Ok(objects.to_vec()),
                    Some(one) => Err(one.to_string()),
                    None => Err(format!("{} objects", objects.len())),
                }
            })
        };
        objects::assert_provider_ids(nodes, &whole(&machines), &whole(&agent_machines));
    }

    /// Makes the pool again, without nodes: one that upgrades its nodes in place, so many at a time. The type of a NodePool never changes.
    #[track_caller]
    pub fn upgrade_in_place(&self, most_down: usize) {
        self.kubectl.run(&["delete", &format!("nodepool/{POOL}")]);
        let mut pool = objects::node_pool(CLUSTERS, POOL, POOL, self.hub.architecture);
        pool["spec"]["management"] = json!({
            "autoRepair": false, "upgradeType": "InPlace", "inPlace": {"maxUnavailable": most_down},
        });
        self.kubectl.apply(&[pool]);
    }

    /// Waits until these nodes, and no others, are Ready with that config; `meanwhile` sees all Nodes each time.
    #[track_caller]
    pub fn await_upgraded(
        &self,
        hosts: &mut [Host],
        names: &[String],
        config: &str,
        mut meanwhile: impl FnMut(&[Value]),
    ) {
        let what = format!("{names:?} to be upgraded to {config}");
        let limit = (INSTALLATION + RETURN) * u32::try_from(names.len()).unwrap_or(1);
        self.nodes.await_in(&what, nodes_path(), limit, |nodes| {
            hosts.iter_mut().for_each(Host::assert_on);
            meanwhile(nodes);
            let fits = |node: &Value| {
                is(node, "Ready", "True") && node["metadata"]["labels"][CONFIG_LABEL] == config
            };
            let done: Vec<&str> = nodes.iter().filter(|node| fits(node)).map(name).collect();
            if names.iter().all(|name| done.contains(&name.as_str())) && nodes.len() == names.len() {
                Ok(())
            } else {
                Err(nodes.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"))
            }
        });
        self.assert_nodes(names, config);
    }

    /// Waits until there is one node with that config, and the other hosts are available or not approved.
    #[track_caller]
    pub fn await_rolled_out(&self, hosts: &mut [Host], config: &str) {
        let what = format!("one node with the config {config}");
        let names = self
            .nodes
            .await_in(&what, nodes_path(), INSTALLATION + RETURN, |nodes| {
                hosts.iter_mut().for_each(Host::assert_on);
                let fits = |node: &Value| {
                    is(node, "Ready", "True") && node["metadata"]["labels"][CONFIG_LABEL] == config
                };
                match nodes {
                    [node] if fits(node) => Ok(vec![name(node).to_owned()]),
                    other => Err(other.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")),
                }
            });
        assert_eq!(self.await_done(hosts, 1), names);
        self.assert_nodes(&names, config);
        self.hub.await_spares(hosts, RETURN);
    }

    /// Waits until the workload cluster has no node, the management cluster no machine, and the hosts are available.
    #[track_caller]
    pub fn await_empty(&self, hosts: &mut [Host]) {
        self.hub.await_available(hosts, RETURN);
        self.nodes
            .await_in("no node to be left", nodes_path(), RETURN, |nodes| {
                if nodes.is_empty() {
                    Ok(())
                } else {
                    Err(nodes.iter().map(name).collect::<Vec<_>>().join(", "))
                }
            });
    }
}
