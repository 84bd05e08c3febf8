//! Cluster API's own core controllers for a control plane. Source: docs/protocol/kube-lab.md.

use std::fs;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::control_plane::ControlPlane;
use super::kubectl::Kubectl;
use super::programs::{crds_of, program};
use crate::certificates::Authority;
use crate::condition::await_condition;
use crate::http::HttpClient;
use crate::process::ports::ReservedPort;
use crate::process::{Program, command};

const START_LIMIT: Duration = Duration::from_secs(120);

/// The API group of its kinds.
const GROUP: &str = "cluster.x-k8s.io";

/// Running controllers. Dropping them ends them; if the test fails, their log is shown.
pub struct ClusterApi {
    program: Program,
    _ports: [ReservedPort; 2],
    _folder: TempDir,
}

impl ClusterApi {
    /// Applies Cluster API's CRDs to the control plane, with versions that the controllers convert, and starts these.
    ///
    /// # Panics
    /// If they are missing or do not start.
    #[track_caller]
    pub fn start(plane: &ControlPlane) -> Self {
        let folder = tempfile::Builder::new().prefix("muster-cluster-api-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let authority = Authority::new("lab-cluster-api");
        let signed = authority.server(&["127.0.0.1", "localhost"]);
        fs::write(folder.path().join("tls.crt"), &signed.certificate).expect("a file can be written");
        fs::write(folder.path().join("tls.key"), &signed.key).expect("a file can be written");
        let [webhooks, health] = std::array::from_fn(|_| ReservedPort::reserve());
        apply_crds(&plane.kubectl(), webhooks.number(), authority.certificate());

        let mut manager = command(program("cluster-api"));
        manager.arg("--kubeconfig").arg(plane.kubeconfig());
        manager.arg("--webhook-cert-dir").arg(folder.path());
        manager.args([
            "--leader-elect=false",
            "--diagnostics-address=127.0.0.1:0",
            "--insecure-diagnostics",
        ]);
        manager.arg(format!("--webhook-port={}", webhooks.number()));
        manager.arg(format!("--health-addr=127.0.0.1:{}", health.number()));
        let identity = [
            ("POD_NAMESPACE", "default"),
            ("POD_NAME", "lab-cluster-api"),
            ("POD_UID", "00000000-0000-4000-8000-00000000cafe"),
        ];
        manager.envs(identity);
        let log = folder.path().join("manager.log");
        let program = Program::start_shared("Cluster API's controllers", manager, &log);
        let mut started = Self {
            program,
            _ports: [webhooks, health],
            _folder: folder,
        };
        started.await_ready();
        started
    }

    #[track_caller]
    fn await_ready(&mut self) {
        let [_, health] = &self._ports;
        let client = HttpClient::new(&format!("http://127.0.0.1:{}", health.number()));
        let program = &mut self.program;
        await_condition("Cluster API's controllers to be ready", START_LIMIT, || {
            assert!(
                program.is_running(),
                "Cluster API's controllers ended:\n{}",
                program.transcript().tail()
            );
            let answer = client.try_request("GET", "/readyz", None)?;
            match answer.status {
                200 => Ok(()),
                status => Err(format!("{status} {}", answer.text())),
            }
        });
    }

    /// Its log.
    pub fn log(&self) -> String {
        self.program.transcript().text()
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.program.id()
    }
}

/// Objects of these kinds are stored in one version and requested in others: the controllers convert them. Without
/// their webhook the objects are garbled.
fn apply_crds(kubectl: &Kubectl, port: u16, authority: &str) {
    let folder = crds_of("cluster-api").display().to_string();
    let printed = kubectl.run(&[
        "create",
        "--dry-run=client",
        "--validate=false",
        "-o",
        "json",
        "-f",
        &folder,
    ]);
    let conversion = json!({
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {
                "url": format!("https://127.0.0.1:{port}/convert"), "caBundle": STANDARD.encode(authority),
            },
        },
    });
    // One object after the other.
    let crds = serde_json::Deserializer::from_str(&printed).into_iter::<Value>();
    let mut crds: Vec<Value> = crds.collect::<Result<_, _>>().expect("kubectl prints JSON");
    for crd in &mut crds {
        if crd["spec"]["versions"].as_array().map_or(0, Vec::len) > 1 {
            crd["spec"]["conversion"] = conversion.clone();
        }
    }
    let crds = json!({"apiVersion": "v1", "kind": "List", "items": crds});
    // Larger than the annotation of a client-side apply may be.
    kubectl.run_with(
        &[
            "apply",
            "--server-side",
            "--force-conflicts",
            "--field-manager=lab",
            "-f",
            "-",
        ],
        &crds.to_string(),
    );
    kubectl.run(&[
        "wait",
        "--for=condition=Established",
        &format!("crd/clusters.{GROUP}"),
        &format!("crd/machines.{GROUP}"),
        &format!("crd/machinedeployments.{GROUP}"),
        "--timeout=120s",
    ]);
}
