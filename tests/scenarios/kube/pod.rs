//! The container image as pods of a real kubelet: `deploy/base` with two replicas, and the same with the component
//! `tls/` in a namespace that admits only restricted pods, as a user that the image does not name. Each time one is
//! killed and the other continues.

mod cluster;

use std::path::Path;
use std::time::Duration;

use muster_tests::artifacts::live_image;
use muster_tests::condition::await_every;
use muster_tests::database::postgres::Postgres;
use muster_tests::http::HttpClient;
use muster_tests::kube::{Kubectl, PodNode, PodPort, Registry, Scheduler};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::clients::packages::{pack_with, unpack};
use cluster::{ARBITRARY_USER, Cluster, DATABASE, NAME, SOON};

/// Time limit until two pods are ready one after the other, unoptimised on an emulated processor.
const ROLLOUT_LIMIT: Duration = Duration::from_secs(600);
const LEASE: &str = "77190dcb.agent-install.openshift.io";

/// A cluster with a node that runs the pods.
struct Lab {
    // The node ends before the API server that it uses.
    node: PodNode,
    cluster: Cluster,
    _postgres: Postgres,
    _registry: Registry,
    _packed: TempDir,
}

impl Lab {
    #[track_caller]
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let packed = pack_with(folder.path(), "1.0.0", Some(&live_image()));
        let layout = folder.path().join("layout");
        unpack(&packed.join("muster-1.0.0-oci.tar"), &layout);
        let registry = Registry::start();
        let image = registry.add_layout("muster:1.0.0", &layout);
        let busybox = Path::new("/bin/busybox");
        let pause = registry.add_program("pause:1", busybox, &["sleep", "1000000"]);

        let postgres = Postgres::start();
        let database = postgres.create_database().replace("127.0.0.1", DATABASE);
        let cluster = Cluster::start(&image, &database);
        let node = PodNode::start(&cluster.workload, &registry, &pause);
        Self {
            node,
            cluster,
            _postgres: postgres,
            _registry: registry,
            _packed: folder,
        }
    }

    fn kubectl(&self) -> Kubectl {
        self.cluster.kubectl()
    }

    /// Applies an overlay, and waits until both replicas have it and are ready.
    #[track_caller]
    fn roll_out(&self, overlay: &str) {
        self.cluster.apply(overlay);
        self.await_both(&format!("two replicas of the overlay {overlay}"));
    }

    #[track_caller]
    fn await_both(&self, what: &str) {
        await_every(Duration::from_secs(2), what, ROLLOUT_LIMIT, || {
            let seen = self.kubectl().get(&["deployment", "muster"]);
            let status = &seen["status"];
            let counts = ["replicas", "updatedReplicas", "readyReplicas"].map(|count| &status[count]);
            let is_seen = status["observedGeneration"] == seen["metadata"]["generation"];
            if is_seen && counts.iter().all(|count| **count == 2) && self.pods().len() == 2 {
                return Ok(());
            }
            let pods = self.kubectl().try_run(&["get", "pods,events"]).out;
            Err(format!("{status}\n{pods}\n{}", self.node.evidence()))
        });
    }

    /// Names and addresses of the pods that are not being deleted.
    #[track_caller]
    fn pods(&self) -> Vec<(String, String)> {
        let all = self.cluster.pods();
        let both = |pod: &Value| {
            let name = pod["metadata"]["name"].as_str()?;
            Some((name.to_owned(), pod["status"]["podIP"].as_str()?.to_owned()))
        };
        all.iter().filter_map(both).collect()
    }

    /// The pod that runs the controllers.
    #[track_caller]
    fn leader(&self) -> String {
        let pods = self.pods();
        let what = "one of the pods to hold the lease";
        self.kubectl().await_that(what, &["lease", LEASE], SOON, |lease| {
            let (pod, _) = lease["spec"]["holderIdentity"].as_str()?.split_once('_')?;
            pods.iter().any(|(name, _)| name == pod).then(|| pod.to_owned())
        })
    }

    /// Creates an InfraEnv; returns the path of its image on the listener of boot artifacts.
    #[track_caller]
    fn image_of(&self, infra_env: &str) -> String {
        let kubectl = self.cluster.workload.kubectl().namespace("lab");
        kubectl.apply(&[json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv", "metadata": {"name": infra_env},
            "spec": {"pullSecretRef": {"name": "pull-secret"}},
        })]);
        let what = format!("the image of {infra_env}");
        let url = kubectl.await_that(&what, &["infraenv", infra_env], SOON, |seen| {
            seen["status"]["isoDownloadURL"].as_str().map(str::to_owned)
        });
        let path = url.strip_prefix(&format!("http://{NAME}:8091"));
        path.unwrap_or_else(|| panic!("{url} is not below the boot URL"))
            .to_owned()
    }

    /// Each pod serves the first bytes of the image.
    #[track_caller]
    fn all_serve(&self, image: &str) {
        for (pod, address) in self.pods() {
            let client = self.client(&address, PodPort::Boot);
            let answer = client.with("Range", "bytes=0-65535").request("GET", image, None);
            assert!(is_a_disc(&answer.expect(206).body), "{pod}");
        }
    }

    /// A client of a plain port of a pod.
    fn client(&self, address: &str, port: PodPort) -> HttpClient {
        HttpClient::new(&format!("http://127.0.0.1:{}", self.node.port(address, port)))
    }

    /// Kills the pod that runs the controllers: the other takes them over, and a new pod starts.
    #[track_caller]
    fn survives_the_death_of_its_leader(&self) {
        let leader = self.leader();
        self.kubectl().run(&[
            "delete",
            "pod",
            &leader,
            "--grace-period=0",
            "--force",
            "--wait=false",
        ]);
        self.await_both("a new pod in the place of the killed one");
        let next = self.leader();
        assert_ne!(next, leader);
    }
}

/// True if the response begins like a disc.
fn is_a_disc(bytes: &[u8]) -> bool {
    bytes.get(32769..32774) == Some(b"CD001")
}

#[test]
fn base_and_tls_are_admitted_where_only_restricted_pods_are_as_any_user() {
    let cluster = Cluster::start(
        "registry.lab.example/muster:1.0.0",
        "postgres://nobody@nowhere/muster",
    );
    cluster.admit_restricted_pods_alone();
    cluster.apply("restricted");
    let scheduler = Scheduler::start(cluster.workload.plane(), "node-1");
    let pods = await_every(Duration::from_secs(1), "two pods on the node", SOON, || {
        let pods = cluster.pods();
        let are_bound = pods.iter().all(|pod| pod["spec"]["nodeName"] == "node-1");
        match pods.len() {
            2 if are_bound => Ok(pods),
            _ => Err(format!(
                "{}{}",
                cluster.kubectl().try_run(&["get", "replicasets,pods,events"]).out,
                scheduler.last_error()
            )),
        }
    });
    for pod in pods {
        assert_eq!(pod["spec"]["securityContext"]["runAsUser"], ARBITRARY_USER);
        let volumes = pod["spec"]["volumes"].to_string();
        for volume in ["kube-api-access", "muster-tls", "emptyDir"] {
            assert!(volumes.contains(volume), "no {volume}: {volumes}");
        }
    }
}

#[test]
#[ignore = "an emulated node runs unoptimised pods: nine minutes"]
fn two_pods_of_the_image_serve_and_one_goes_on_when_the_other_is_killed() {
    let lab = Lab::start();

    lab.roll_out("plain");
    let image = lab.image_of("first");
    lab.all_serve(&image);
    lab.survives_the_death_of_its_leader();
    lab.image_of("second");

    // Again with a certificate of ours, restricted, and as another user.
    lab.cluster.admit_restricted_pods_alone();
    lab.roll_out("restricted");
    let image = lab.image_of("third");
    lab.all_serve(&image);
    for (pod, address) in lab.pods() {
        let user = "jsonpath={.spec.securityContext.runAsUser}";
        assert_eq!(
            lab.kubectl().run(&["get", "pod", &pod, "-o", user]),
            ARBITRARY_USER.to_string()
        );
        let url = format!("https://127.0.0.1:{}", lab.node.port(&address, PodPort::Api));
        let api = HttpClient::trusting(&url, lab.cluster.authority.certificate().as_bytes());
        api.request("GET", "/health", None).expect(200);
        let status = lab.client(&address, PodPort::Status);
        let ready = status.request("GET", "/ready", None).expect(200).json();
        for part in ["database", "kubernetes"] {
            assert!(ready[part].as_str().unwrap().starts_with("ok"), "{ready}");
        }
    }
    lab.survives_the_death_of_its_leader();
    lab.image_of("fourth");
}
