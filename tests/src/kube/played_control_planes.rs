//! Clusters of kubeadm without machines: the API server and etcd of each node are played in memory by the packages that
//! Cluster API tests itself with (`tests/kube/cluster-api/played`). Source: docs/protocol/capi-day1.md#4.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::artifacts::project_root;
use crate::http::HttpClient;
use crate::process::ports::ReservedPort;
use crate::process::{Program, command, run};

const START_LIMIT: Duration = Duration::from_secs(60);

/// A cluster whose nodes are played. Dropping it ends it.
pub struct PlayedControlPlanes {
    http: HttpClient,
    endpoint: ReservedPort,
    _program: Program,
    _debug: ReservedPort,
    _folder: TempDir,
}

/// A machine that boots: a node, and a member of etcd if it is of the control plane.
#[derive(Debug)]
pub struct PlayedMachine<'a> {
    /// The node's name.
    pub name: &'a str,
    pub provider_id: &'a str,
    /// Of Kubernetes: `v1.34.4`.
    pub version: &'a str,
    pub is_control_plane: bool,
    /// `data` of the Secrets with the authorities of cluster and etcd.
    pub authorities: [&'a Value; 2],
}

/// The cluster as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Played {
    /// Nodes whose members etcd lists, sorted.
    pub members: Vec<String>,
    /// Sorted.
    pub nodes: Vec<String>,
}

const CLUSTER: &str = "lab";

const WATCH_INTERVAL: Duration = Duration::from_millis(200);

impl PlayedControlPlanes {
    /// Starts an empty cluster.
    ///
    /// # Panics
    /// If `.ci/kube` did not build the program, or it does not start.
    #[track_caller]
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let found =
            run(Command::new(project_root().join(".ci/kube")).args(["--where", "played-control-planes"]));
        let (endpoint, debug) = (ReservedPort::reserve(), ReservedPort::reserve());
        let mut played = command(found.trim());
        played.arg(format!("--debug-port={}", debug.number()));
        let mut program = Program::start("played control planes", &mut played, &folder.path().join("log"));
        let address = program.await_output(r"(?m)^(127\.0\.0\.1:\d+)$", START_LIMIT);
        let http = HttpClient::new(&format!("http://{address}"));
        let cluster = json!({"name": CLUSTER, "port": endpoint.number()}).to_string();
        http.request("POST", "/clusters", Some(cluster.as_bytes()))
            .expect(200);
        Self {
            http,
            endpoint,
            _program: program,
            _debug: debug,
            _folder: folder,
        }
    }

    /// Port of the API, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.endpoint.number()
    }

    /// A machine has booted from its disk. Repeated, it changes nothing.
    ///
    /// # Errors
    /// If the cluster refuses it.
    pub fn boot(&self, machine: &PlayedMachine<'_>) -> Result<(), String> {
        let [ca, etcd_ca] = machine.authorities;
        let body = json!({
            "name": machine.name, "providerID": machine.provider_id, "version": machine.version,
            "controlPlane": machine.is_control_plane, "ca": ca, "etcdCA": etcd_ca,
        });
        let path = format!("/clusters/{CLUSTER}/machines");
        let answer = self
            .http
            .try_request("POST", &path, Some(body.to_string().as_bytes()))?;
        if answer.status == 200 {
            Ok(())
        } else {
            Err(answer.text())
        }
    }

    /// A machine is gone from its cluster, whatever etcd lists.
    pub fn end(&self, name: &str) {
        let path = format!("/clusters/{CLUSTER}/machines/{name}");
        self.http.request("DELETE", &path, None).expect(200);
    }

    /// Members and nodes.
    pub fn seen(&self) -> Played {
        seen(&self.http).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Counts the members that etcd lists, several times a second.
    pub fn watch_members(&self) -> MemberWatch {
        let ends = Arc::new(AtomicBool::new(false));
        let (http, seen_ends) = (self.http.clone(), Arc::clone(&ends));
        let thread = std::thread::spawn(move || {
            let (mut fewest, mut most) = (usize::MAX, 0);
            while !seen_ends.load(Ordering::Relaxed) {
                if let Ok(played) = seen(&http) {
                    fewest = fewest.min(played.members.len());
                    most = most.max(played.members.len());
                }
                std::thread::park_timeout(WATCH_INTERVAL);
            }
            (fewest, most)
        });
        MemberWatch { ends, thread }
    }
}

/// A running count of members.
pub struct MemberWatch {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<(usize, usize)>,
}

impl MemberWatch {
    /// Ends it: the fewest and the most members that were listed at one time.
    ///
    /// # Panics
    /// If counting did.
    pub fn end(self) -> (usize, usize) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread.join().expect("nothing panics there")
    }
}

fn seen(http: &HttpClient) -> Result<Played, String> {
    let answer = http.try_request("GET", &format!("/clusters/{CLUSTER}"), None)?;
    if answer.status != 200 {
        return Err(format!("{} {}", answer.status, answer.text()));
    }
    let shown = answer.json();
    let sorted = |names: &Value| {
        let names = names.as_array().into_iter().flatten();
        let mut names: Vec<String> = names
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        names.sort();
        names
    };
    Ok(Played {
        members: sorted(&shown["members"]),
        nodes: sorted(&shown["nodes"]),
    })
}
