//! Cluster API's own controllers for a control plane: core, and kubeadm's bootstrap and control plane. Source:
//! docs/protocol/kube-lab.md, docs/protocol/capi-day1.md#4.

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::control_plane::ControlPlane;
use super::kubectl::Kubectl;
use super::programs::{cluster_api_version, files_of, program};
use crate::certificates::Authority;
use crate::condition::await_condition;
use crate::http::HttpClient;
use crate::process::ports::ReservedPort;
use crate::process::{Program, command};

const START_LIMIT: Duration = Duration::from_secs(120);

/// The API group of core's kinds.
const GROUP: &str = "cluster.x-k8s.io";

/// The program with core's controllers.
const CORE: &str = "cluster-api";

/// Running controllers. Dropping them ends them; if the test fails, their logs are shown.
pub struct ClusterApi {
    managers: Vec<Manager>,
    _folder: TempDir,
}

/// One program.
struct Manager {
    name: &'static str,
    program: Program,
    health: ReservedPort,
    webhooks: ReservedPort,
    crds: Vec<Value>,
}

impl ClusterApi {
    /// Applies Cluster API's CRDs and webhooks to the control plane, and starts core's controllers, which convert and
    /// check its objects.
    ///
    /// # Panics
    /// If they are missing or do not start.
    #[track_caller]
    pub fn start(plane: &ControlPlane) -> Self {
        Self::with(plane, &[CORE])
    }

    /// The same with kubeadm's bootstrap and control plane.
    #[track_caller]
    pub fn with_kubeadm(plane: &ControlPlane) -> Self {
        Self::with(plane, &[CORE, "kubeadm-bootstrap", "kubeadm-control-plane"])
    }

    #[track_caller]
    fn with(plane: &ControlPlane, names: &[&'static str]) -> Self {
        let folder = tempfile::Builder::new().prefix("muster-cluster-api-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let authority = Authority::new("lab-cluster-api");
        let signed = authority.server(&["127.0.0.1", "localhost"]);
        fs::write(folder.path().join("tls.crt"), &signed.certificate).expect("a file can be written");
        fs::write(folder.path().join("tls.key"), &signed.key).expect("a file can be written");
        let kubectl = plane.kubectl();
        let ports: Vec<_> = names.iter().map(|_| ReservedPort::reserve()).collect();
        let crds: Vec<_> = names
            .iter()
            .zip(&ports)
            .map(|(name, port)| crds_of(&kubectl, name, port.number(), authority.certificate()))
            .collect();
        crds.iter().for_each(|crds| apply(&kubectl, crds));
        kubectl.await_kinds();
        let managers = names.iter().zip(ports).zip(crds);
        let managers =
            managers.map(|((name, port), crds)| Manager::start(name, plane, port, crds, folder.path()));
        let mut started = Self {
            managers: managers.collect(),
            _folder: folder,
        };
        for manager in &mut started.managers {
            manager.await_ready();
        }
        // No object is refused because a manager was not there yet.
        for manager in &started.managers {
            let port = manager.webhooks.number();
            apply_webhooks(&kubectl, manager.name, port, authority.certificate());
        }
        started
    }

    /// Its logs.
    pub fn log(&self) -> String {
        let logs = self.managers.iter().map(|one| one.program.transcript().text());
        logs.collect::<Vec<_>>().join("\n")
    }

    /// Lays out a repository of clusterctl with these providers: their kinds, whose controllers run already, in a namespace each. Returns the
    /// entries of `providers` in clusterctl's configuration.
    ///
    /// # Panics
    /// If files cannot be written.
    #[track_caller]
    pub(super) fn repository(&self, kubectl: &Kubectl, folder: &Path) -> Vec<Value> {
        let version = cluster_api_version();
        let minor = version
            .split('.')
            .nth(1)
            .and_then(|minor| minor.parse::<u32>().ok());
        let metadata = json!({
            "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Metadata",
            "releaseSeries": [{"major": 1, "minor": minor, "contract": "v1beta2"}],
        });
        let entry = |manager: &Manager| {
            let (name, kind, label) = provider(manager.name);
            let folder = folder.join(label).join(version);
            let components = folder.join(match kind {
                "CoreProvider" => "core-components.yaml".to_owned(),
                _ => format!("{}-components.yaml", label.trim_end_matches("-kubeadm")),
            });
            let labels = json!({format!("{GROUP}/provider"): label});
            let namespace = json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": format!("lab-{label}"), "labels": labels},
            });
            let mut objects = manager.crds.clone();
            for crd in &mut objects {
                crd["metadata"]["labels"][format!("{GROUP}/provider")] = json!(label);
            }
            objects.insert(0, namespace);
            let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
            let printed = kubectl.run_with(
                &[
                    "create",
                    "--dry-run=client",
                    "--validate=false",
                    "-o",
                    "yaml",
                    "-f",
                    "-",
                ],
                &list,
            );
            let written = fs::create_dir_all(&folder)
                .and_then(|()| fs::write(folder.join("metadata.yaml"), metadata.to_string()))
                .and_then(|()| fs::write(&components, printed));
            written.unwrap_or_else(|error| panic!("{}: {error}", components.display()));
            json!({"name": name, "type": kind, "url": components})
        };
        self.managers.iter().map(entry).collect()
    }

    /// The process id of core's controllers.
    pub fn id(&self) -> u32 {
        self.managers[0].program.id()
    }
}

/// Name, type and label of a provider, as clusterctl knows them.
fn provider(manager: &str) -> (&'static str, &'static str, &'static str) {
    match manager {
        "kubeadm-bootstrap" => ("kubeadm", "BootstrapProvider", "bootstrap-kubeadm"),
        "kubeadm-control-plane" => ("kubeadm", "ControlPlaneProvider", "control-plane-kubeadm"),
        _ => ("cluster-api", "CoreProvider", "cluster-api"),
    }
}

impl Manager {
    #[track_caller]
    fn start(
        name: &'static str,
        plane: &ControlPlane,
        webhooks: ReservedPort,
        crds: Vec<Value>,
        folder: &Path,
    ) -> Self {
        let health = ReservedPort::reserve();
        let mut manager = command(program(name));
        manager.arg("--kubeconfig").arg(plane.kubeconfig());
        manager.arg("--webhook-cert-dir").arg(folder);
        manager.args([
            "--leader-elect=false",
            "--diagnostics-address=127.0.0.1:0",
            "--insecure-diagnostics",
        ]);
        manager.arg(format!("--webhook-port={}", webhooks.number()));
        manager.arg(format!("--health-addr=127.0.0.1:{}", health.number()));
        if name != CORE {
            manager.arg("--feature-gates=KubeadmBootstrapFormatIgnition=true");
        }
        manager.envs([
            ("POD_NAMESPACE", "default"),
            ("POD_NAME", "lab-cluster-api"),
            ("POD_UID", "00000000-0000-4000-8000-00000000cafe"),
        ]);
        let log = folder.join(format!("{name}.log"));
        Self {
            name,
            program: Program::start_shared(name, manager, &log),
            health,
            webhooks,
            crds,
        }
    }

    #[track_caller]
    fn await_ready(&mut self) {
        let client = HttpClient::new(&format!("http://127.0.0.1:{}", self.health.number()));
        let (name, program) = (self.name, &mut self.program);
        await_condition(&format!("{name} to be ready"), START_LIMIT, || {
            assert!(
                program.is_running(),
                "{name} ended:\n{}",
                program.transcript().tail()
            );
            let answer = client.try_request("GET", "/readyz", None)?;
            match answer.status {
                200 => Ok(()),
                status => Err(format!("{status} {}", answer.text())),
            }
        });
    }
}

/// Objects of these kinds are stored in one version and requested in others: the controllers convert them. Without
/// their webhook the objects are garbled.
#[track_caller]
fn crds_of(kubectl: &Kubectl, name: &str, port: u16, authority: &str) -> Vec<Value> {
    let conversion = json!({
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {
                "url": format!("https://127.0.0.1:{port}/convert"), "caBundle": STANDARD.encode(authority),
            },
        },
    });
    let mut crds = objects_in(kubectl, &files_of(name, "crds"));
    for crd in &mut crds {
        if crd["spec"]["versions"].as_array().map_or(0, Vec::len) > 1 {
            crd["spec"]["conversion"] = conversion.clone();
        }
        // As its kustomization does; by them core finds the version of a kind that follows a contract.
        for contract in ["v1beta1", "v1beta2"] {
            crd["metadata"]["labels"][format!("{GROUP}/{contract}")] = json!(contract);
        }
    }
    crds
}

/// Defaults and checks of the kinds, without which objects lack members that the controllers rely on.
#[track_caller]
fn apply_webhooks(kubectl: &Kubectl, name: &str, port: u16, authority: &str) {
    let file = files_of(name, "webhooks").join("manifests.yaml");
    let mut configurations = objects_in(kubectl, &file);
    for configuration in &mut configurations {
        let kind = configuration["kind"].as_str().unwrap_or_default();
        configuration["metadata"]["name"] = format!("{name}-{}", kind.to_lowercase()).into();
        for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
            let path = webhook["clientConfig"]["service"]["path"]
                .as_str()
                .unwrap_or_default();
            let url = format!("https://127.0.0.1:{port}{path}");
            webhook["clientConfig"] = json!({"url": url, "caBundle": STANDARD.encode(authority)});
        }
    }
    apply(kubectl, &configurations);
}

/// The objects of a file, or of all files of a folder.
#[track_caller]
fn objects_in(kubectl: &Kubectl, path: &Path) -> Vec<Value> {
    let path = path.display().to_string();
    let printed = kubectl.run(&[
        "create",
        "--dry-run=client",
        "--validate=false",
        "-o",
        "json",
        "-f",
        &path,
    ]);
    // One object after the other.
    let objects = serde_json::Deserializer::from_str(&printed).into_iter::<Value>();
    objects.collect::<Result<_, _>>().expect("kubectl prints JSON")
}

#[track_caller]
fn apply(kubectl: &Kubectl, objects: &[Value]) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
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
        &list.to_string(),
    );
}
