//! Simulates the arrival of many nodes: for hosts without a machine (`muster-fleet`). Each requests its certificates
//! like a kubelet and then writes its Node; nothing else of a kubelet is simulated. A host that is in discovery again has
//! none, and its next system joins like the first. Machines have real ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rcgen::SanType;
use serde_json::{Value, json};

use super::api::Api;
use super::hub::{hostname, state};
use crate::certificates::key_pair;
use crate::condition::without_load;
use crate::http::HttpClient;
use crate::kube::ControlPlane;
use crate::kube::KubeletCertificate::{self, Client, Serving};

const INTERVAL: Duration = Duration::from_millis(500);
/// Nodes that act at the same time.
const AT_ONCE: usize = 8;
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
/// The account, with its groups, that may request a client certificate: docs/protocol/install-flow.md#10.
const BOOTSTRAPPER: (&str, &[&str]) = (
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper",
    &[
        "system:serviceaccounts",
        "system:serviceaccounts:openshift-machine-config-operator",
        "system:authenticated",
    ],
);

/// Simulated kubelets, which end when this is dropped.
pub struct Kubelets {
    ends: Arc<AtomicBool>,
    stopped: Arc<Mutex<BTreeSet<String>>>,
    thread: Option<JoinHandle<()>>,
}

/// The system of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct System {
    /// Number of systems that the host had before.
    former: u32,
    stage: Stage,
}

/// The progress of a node that joins its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// There is no kubelet.
    Off,
    AsksForClient,
    AsksForServing,
    Ready,
}

impl Kubelets {
    /// Creates a node in the workload cluster for each Agent at `agents_path` that reboots into it.
    pub fn of_rebooting_agents(agents: Api, agents_path: String, workload: &ControlPlane) -> Self {
        Self::start(agents, agents_path, workload, false)
    }

    /// The same with nodes that report again and again that they are ready, for clusters whose controllers watch them.
    pub fn with_heartbeats(agents: Api, agents_path: String, workload: &ControlPlane) -> Self {
        Self::start(agents, agents_path, workload, true)
    }

    /// The kubelet of this node ends, as when it is killed.
    pub fn stop(&self, node: &str) {
        locked(&self.stopped).insert(node.to_owned());
    }

    fn start(agents: Api, agents_path: String, workload: &ControlPlane, has_heartbeats: bool) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let authority = std::fs::read(workload.authority()).expect("the control plane wrote its certificate");
        let http = HttpClient::trusting(&workload.url(), &authority).with_token(workload.token());
        let seen_ends = Arc::clone(&ends);
        let stopped: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let seen_stopped = Arc::clone(&stopped);
        let thread = std::thread::spawn(move || {
            let nodes = Mutex::new(BTreeMap::new());
            let mut listed = Vec::new();
            while !seen_ends.load(Ordering::Relaxed) {
                let asked = Instant::now();
                // Kubelets go on while the service does not answer.
                if let Ok(present) = agents.list(&agents_path) {
                    listed = present;
                }
                let pause = without_load(INTERVAL, asked.elapsed());
                let stopped = locked(&seen_stopped).clone();
                let (http, nodes, stopped) = (&http, &nodes, &stopped);
                std::thread::scope(|scope| {
                    for some in listed.chunks(listed.len().div_ceil(AT_ONCE).max(1)) {
                        scope.spawn(move || {
                            some.iter()
                                .filter(|agent| is_in_discovery(agent))
                                .for_each(|agent| end(nodes, hostname(agent)));
                            let rebooted = some.iter().filter(|agent| has_rebooted(agent)).map(hostname);
                            rebooted
                                .filter(|name| !stopped.contains(*name))
                                .for_each(|name| advance(http, name, nodes, has_heartbeats));
                        });
                    }
                });
                std::thread::park_timeout(pause);
            }
        });
        Self {
            ends,
            stopped,
            thread: Some(thread),
        }
    }
}

impl Drop for Kubelets {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn has_rebooted(agent: &Value) -> bool {
    let stage = agent["status"]["progress"]["currentStage"].as_str();
    matches!(stage, Some("Rebooting" | "Configuring" | "Joined" | "Done")) && !is_in_discovery(agent)
}

/// True when the host has registered from the discovery image, whatever its progress shows of its former system, until it reboots from its
/// disk.
fn is_in_discovery(agent: &Value) -> bool {
    let stage = agent["status"]["progress"]["currentStage"].as_str();
    match state(agent).trim_end_matches("-unbound") {
        "discovering" | "known" | "insufficient" | "pending-for-input" | "installing" => true,
        "installing-in-progress" => matches!(stage, Some("Installing" | "Writing image to disk")),
        _ => false,
    }
}

/// The kubelet of a system that a host had ends.
fn end(nodes: &Mutex<BTreeMap<String, System>>, name: &str) {
    if let Some(system) = locked(nodes)
        .get_mut(name)
        .filter(|system| system.stage != Stage::Off)
    {
        *system = System {
            former: system.former + 1,
            stage: Stage::Off,
        };
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the node's next step. Failures are retried.
fn advance(http: &HttpClient, name: &str, nodes: &Mutex<BTreeMap<String, System>>, has_heartbeats: bool) {
    let node_groups: &[&str] = &["system:nodes", "system:authenticated"];
    let user = format!("system:node:{name}");
    let off = System {
        former: 0,
        stage: Stage::Off,
    };
    let system = locked(nodes).get(name).copied().unwrap_or(off);
    let of = |kind: KubeletCertificate| request_of(kind, name, system.former);
    let next = match system.stage {
        Stage::Off => ask(http, name, (Client, &of(Client)), BOOTSTRAPPER).then_some(Stage::AsksForClient),
        Stage::AsksForClient if has_certificate(http, &of(Client)) => (write_node(http, name)
            && ask(http, name, (Serving, &of(Serving)), (&user, node_groups)))
        .then_some(Stage::AsksForServing),
        Stage::AsksForServing if has_certificate(http, &of(Serving)) => {
            set_ready(http, name).then_some(Stage::Ready)
        }
        Stage::Ready if has_heartbeats => {
            set_ready(http, name);
            None
        }
        Stage::AsksForClient | Stage::AsksForServing | Stage::Ready => None,
    };
    if let Some(stage) = next {
        locked(nodes).insert(name.to_owned(), System { stage, ..system });
    }
}

/// Requests a certificate under this name of the request.
fn ask(
    http: &HttpClient,
    name: &str,
    (kind, request): (KubeletCertificate, &str),
    (user, groups): (&str, &[&str]),
) -> bool {
    let names = match kind {
        Client => Vec::new(),
        Serving => vec![SanType::DnsName(name.try_into().expect("a name"))],
    };
    let object = kind.request(request, name, &key_pair(), names);
    let as_user = groups
        .iter()
        .fold(http.with("Impersonate-User", user), |http, group| {
            http.with("Impersonate-Group", group)
        });
    post(&as_user, REQUESTS, &object)
}

/// Name of a request; each system of a host has its own.
fn request_of(kind: KubeletCertificate, name: &str, former: u32) -> String {
    match former {
        0 => format!("{}-{name}", kind.name()),
        number => format!("{}-{name}-{number}", kind.name()),
    }
}

fn has_certificate(http: &HttpClient, request: &str) -> bool {
    let answer = http.try_request("GET", &format!("{REQUESTS}/{request}"), None);
    answer.is_ok_and(|answer| answer.status == 200 && answer.json()["status"]["certificate"].is_string())
}

fn write_node(http: &HttpClient, name: &str) -> bool {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {
        "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
    }}});
    post(http, "/api/v1/nodes", &node) && set_status(http, name, "False")
}

fn set_ready(http: &HttpClient, name: &str) -> bool {
    set_status(http, name, "True")
}

fn set_status(http: &HttpClient, name: &str, ready: &str) -> bool {
    let status = json!({"status": {
        "addresses": [{"type": "Hostname", "address": name}],
        "nodeInfo": {"kubeletVersion": "v1.34.4", "osImage": "played", "bootID": name},
        "conditions": [{
            "type": "Ready", "status": ready, "reason": "Played", "message": "",
            "lastHeartbeatTime": chrono::Utc::now().format("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    }});
    let patch = http.with("Content-Type", "application/merge-patch+json");
    let path = format!("/api/v1/nodes/{name}/status");
    let answer = patch.try_request("PATCH", &path, Some(status.to_string().as_bytes()));
    answer.is_ok_and(|answer| answer.status == 200)
}

/// True if it exists now.
fn post(http: &HttpClient, path: &str, object: &Value) -> bool {
    let answer = http.try_request("POST", path, Some(object.to_string().as_bytes()));
    answer.is_ok_and(|answer| matches!(answer.status, 201 | 409))
}
