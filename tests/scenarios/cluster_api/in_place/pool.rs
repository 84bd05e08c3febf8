//! A NodePool of type InPlace on the built-in API, with hosts of a fleet and played kubelets.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use muster_tests::condition::await_every;
use muster_tests::kube::Kubectl;
use muster_tests::walk::{
    Api, CLUSTERS, FleetHosts, Hub, Kubelets, NodePoolWalk, POOL, hostname, name, nodes_path, objects,
    summary,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Between two observations.
const INTERVAL: Duration = Duration::from_millis(300);
/// For three upgrades one after the other: the lifecycle of Nodes counts a kubelet as silent after less than a minute.
const LIMIT: Duration = Duration::from_secs(900);
/// The pods of the workload cluster, and their budget.
const GUARDED: &str = "guarded";

/// The objects at one moment.
pub struct Seen {
    nodes: Vec<Value>,
    pub machines: Vec<Value>,
    agents: Vec<Value>,
    pool: Value,
}

impl Seen {
    /// The Machines that are upgraded, with what their condition shows.
    pub fn updating(&self) -> Vec<(&str, &str)> {
        let shown = self.machines.iter().filter_map(|machine| {
            let updating = condition(machine, "Updating").filter(|one| one["status"] == "True")?;
            Some((name(machine), updating["message"].as_str().unwrap_or_default()))
        });
        shown.collect()
    }

    /// So many Machines are upgraded, and the conditions of all contain the text.
    pub fn all_wait(&self, count: usize, text: &str) -> Result<(), String> {
        let updating = self.updating();
        let fits = updating.len() == count && updating.iter().all(|(_, shown)| shown.contains(text));
        fits.then_some(()).ok_or_else(|| format!("{updating:?}"))
    }

    /// The message of the NodePool's condition `UpdatingConfig` that has this reason.
    pub fn updating_config(&self, reason: &str) -> Result<String, String> {
        let shown = condition(&self.pool, "UpdatingConfig")
            .cloned()
            .unwrap_or_default();
        let message = shown["message"].as_str().unwrap_or_default().to_owned();
        if shown["reason"] == reason {
            Ok(message)
        } else {
            Err(shown.to_string())
        }
    }

    /// The Nodes that are ready and take pods.
    pub fn up(&self) -> Vec<&str> {
        let is_up = |node: &&Value| {
            condition(node, "Ready").is_some_and(|ready| ready["status"] == "True")
                && node["spec"]["unschedulable"] != true
        };
        self.nodes.iter().filter(is_up).map(name).collect()
    }

    /// Each Node's uid.
    pub fn uids(&self) -> BTreeMap<String, String> {
        let uid = |node: &Value| node["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        self.nodes
            .iter()
            .map(|node| (name(node).to_owned(), uid(node)))
            .collect()
    }

    /// The Agents that belong to a cluster.
    pub fn bound(&self) -> impl Iterator<Item = &Value> {
        self.agents
            .iter()
            .filter(|agent| agent["spec"]["clusterDeploymentName"]["name"].is_string())
    }

    fn members(&self) -> Members {
        Members {
            machines: self.machines.iter().map(|one| name(one).to_owned()).collect(),
            hosts: self
                .bound()
                .map(|agent| (hostname(agent).to_owned(), name(agent).to_owned()))
                .collect(),
        }
    }

    pub fn describe(&self) -> String {
        let agents: Vec<String> = self.bound().map(summary).collect();
        format!(
            "nodes: {:?}\nupdating: {:?}\n{}\n{}",
            self.nodes.iter().map(node_state).collect::<Vec<_>>(),
            self.updating(),
            self.pool["status"]["conditions"],
            agents.join("\n")
        )
    }
}

/// Name, condition `Ready` and whether pods are kept away.
fn node_state(node: &Value) -> String {
    let ready = condition(node, "Ready").cloned().unwrap_or_default();
    let cordoned = &node["spec"]["unschedulable"];
    format!(
        "{}: Ready {}, {}, cordoned {cordoned}",
        name(node),
        ready["status"],
        ready["reason"]
    )
}

fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|one| one["type"] == type_)
}

/// Machines and hosts of the pool.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Members {
    pub machines: BTreeSet<String>,
    /// Name and Agent of each host.
    pub hosts: BTreeMap<String, String>,
}

/// A NodePool whose nodes are up.
pub struct Pool {
    // What uses another part stands before it.
    pub fleet: FleetHosts,
    _kubelets: Kubelets,
    nodes: Api,
    walk: NodePoolWalk,
    /// Those of the beginning.
    pub members: Members,
    /// Number of nodes that may be down.
    most_down: usize,
    _folder: TempDir,
}

impl Pool {
    /// With so many nodes, and two free Agents more.
    #[track_caller]
    pub fn start(count: usize, most_down: usize, fleet: fn(&Hub, usize, &Path) -> FleetHosts) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = Hub::built_in(Hub::settings_with(&FleetHosts::os_images(folder.path())));
        let fleet = fleet(&hub, count + 2, folder.path());
        hub.approve_some(count + 2, LIMIT);
        let walk = NodePoolWalk::begin(hub);
        let kubelets =
            Kubelets::with_heartbeats(walk.hub.api.clone(), Hub::agents_path(), walk.workload.plane());
        let mut pool = Self {
            fleet,
            _kubelets: kubelets,
            nodes: Api::real(walk.workload.plane()),
            walk,
            members: Members::default(),
            most_down,
            _folder: folder,
        };
        pool.walk.upgrade_in_place(most_down);
        pool.data("one");
        pool.walk.scale(count);
        pool.members = pool.until("the pool to have its nodes", |seen| {
            let is_whole = seen.up().len() == count && seen.machines.len() == count;
            seen.updating_config("AsExpected")?;
            is_whole.then(|| seen.members()).ok_or_else(String::new)
        });
        assert_eq!(pool.members.hosts.len(), count);
        pool
    }

    fn kubectl(&self) -> Kubectl {
        self.walk.hub.kubectl.namespace(CLUSTERS)
    }

    #[track_caller]
    fn patch(&self, change: &Value) {
        let pool = format!("nodepool/{POOL}");
        self.kubectl()
            .run(&["patch", &pool, "--type=merge", "-p", &change.to_string()]);
    }

    /// Replaces the bootstrap data.
    #[track_caller]
    pub fn data(&self, text: &str) {
        let files = json!([{"path": format!("/etc/{text}")}]);
        let config = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}});
        let data = json!({"value": config.to_string()});
        self.kubectl()
            .apply(&[objects::secret(CLUSTERS, &format!("user-data-{POOL}"), &data)]);
    }

    /// Replaces bootstrap data and image together.
    #[track_caller]
    pub fn data_and_image(&self, text: &str, image: &str) {
        self.patch(&json!({"spec": {"pausedUntil": "true"}}));
        let paused = "--for=condition=ReconciliationActive=false";
        let pool = format!("nodepool/{POOL}");
        self.kubectl().run(&["wait", paused, &pool, "--timeout=120s"]);
        self.data(text);
        let annotations = json!({"capi-provider.agent-install.openshift.io/os-image": image});
        self.patch(&json!({"metadata": {"annotations": annotations}, "spec": {"pausedUntil": null}}));
    }

    /// Observes until `done` returns a value, and holds each observation to [what must hold](Self::assert_kept).
    ///
    /// # Panics
    /// After [`LIMIT`].
    #[track_caller]
    pub fn until<T>(&self, what: &str, mut done: impl FnMut(&Seen) -> Result<T, String>) -> T {
        await_every(INTERVAL, what, LIMIT, || {
            let seen = self.observe()?;
            self.assert_kept(&seen);
            done(&seen).map_err(|why| format!("{why}\n{}", seen.describe()))
        })
    }

    pub fn observe(&self) -> Result<Seen, String> {
        let api = &self.walk.hub.api;
        let pools = format!("/apis/hypershift.openshift.io/v1beta1/namespaces/{CLUSTERS}/nodepools");
        let machines = format!("/apis/cluster.x-k8s.io/v1beta2/namespaces/{CLUSTERS}-{POOL}/machines");
        Ok(Seen {
            nodes: self.nodes.list(nodes_path())?,
            machines: api.list(&machines)?,
            agents: api.list(&Hub::agents_path())?,
            pool: api.list(&pools)?.into_iter().next().unwrap_or_default(),
        })
    }

    /// No more nodes are down than the pool allows, and no host or Machine comes or goes.
    #[track_caller]
    fn assert_kept(&self, seen: &Seen) {
        if self.members == Members::default() {
            return;
        }
        let up = seen.up().len();
        assert!(
            up + self.most_down >= self.members.hosts.len(),
            "{}",
            seen.describe()
        );
        assert_eq!(seen.members(), self.members, "{}", seen.describe());
        let strangers = seen
            .nodes
            .iter()
            .find(|node| !self.members.hosts.contains_key(name(node)));
        assert!(strangers.is_none(), "{strangers:?}");
    }

    /// Kills the service, and starts it again.
    #[track_caller]
    pub fn kill(&mut self) {
        self.walk.hub.service.kill();
        self.walk.hub.service.start_again();
    }

    /// Has a pod on each node, none of which may be evicted.
    #[track_caller]
    pub fn guard(&self) {
        let kubectl = self.pods();
        for (number, node) in self.members.hosts.keys().enumerate() {
            let pod = format!("{GUARDED}-{number}");
            kubectl.apply(&[json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "labels": {"app": GUARDED}},
                "spec": {
                    "nodeName": node, "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "one", "image": "registry.example.test/one:1"}],
                },
            })]);
            // Pods that do not run yet have no budget.
            let running = json!({"status": {"phase": "Running"}}).to_string();
            let status = "--subresource=status";
            kubectl.run(&["patch", "pod", &pod, status, "--type=merge", "-p", &running]);
        }
        kubectl.apply(&[json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": GUARDED},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": GUARDED}}},
        })]);
    }

    /// Number of pods that are left.
    #[track_caller]
    pub fn pods_left(&self) -> usize {
        let pods = self.pods().get(&["pods"]);
        pods["items"].as_array().map_or(0, Vec::len)
    }

    /// Lets pods be evicted again.
    #[track_caller]
    pub fn unguard(&self) {
        self.pods().run(&["delete", "poddisruptionbudget", GUARDED]);
    }

    fn pods(&self) -> Kubectl {
        self.walk.workload.kubectl().namespace("default")
    }

    /// Waits until all nodes are up and up to date.
    #[track_caller]
    pub fn await_upgraded(&self) -> Seen {
        let count = self.members.hosts.len();
        self.until("all nodes to be up and up to date", |seen| {
            seen.updating_config("AsExpected")?;
            if seen.up().len() == count && seen.updating().is_empty() {
                self.observe()
            } else {
                Err(String::new())
            }
        })
    }
}
