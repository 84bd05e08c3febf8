//! etcd, kube-apiserver and kube-controller-manager, owned by a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;
use tempfile::TempDir;

use crate::certificates::{Authority, key_pair};
use crate::condition::await_condition;
use crate::http::HttpClient;
use crate::process::ports::ReservedPort;
use crate::process::{Program, command, run};
use crate::qemu::USER_NETWORK_HOST;

use super::kubectl::Kubectl;
use super::programs::program;

/// Measured 2.7 s for the API server on an idle machine; a test shares two cores with emulated ones.
const START_LIMIT: Duration = Duration::from_secs(120);
const REQUEST_LIMIT: Duration = Duration::from_secs(20);
/// The administrator's token, for clients without certificates. The server ends with the test.
const TOKEN: &str = "token-of-the-labs-administrator";
/// Controllers that tests need: certificates are signed, owners' objects and namespaces' content are deleted.
const CONTROLLERS: &str = "csrsigning,csrcleaner,garbagecollector,namespace,nodelifecycle";
/// Further controllers, for pods.
const POD_CONTROLLERS: &str = "deployment-controller,replicaset-controller,serviceaccount-controller,\
    root-ca-certificate-publisher-controller,disruption-controller";

/// The namespace of Muster's ServiceAccount and lease.
pub const SERVICE_NAMESPACE: &str = "muster";

/// Options of a control plane.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    more: Vec<String>,
    is_without_controllers: bool,
    nodes_need_no_heartbeat: bool,
    has_pods: bool,
}

impl Settings {
    /// With one more argument of kube-apiserver.
    #[must_use]
    pub fn server_argument(mut self, argument: &str) -> Self {
        self.more.push(argument.to_owned());
        self
    }

    /// Without kube-controller-manager: nothing is collected, no certificate is signed.
    #[must_use]
    pub fn without_controllers(mut self) -> Self {
        self.is_without_controllers = true;
        self
    }

    /// With nodes that stay Ready without a kubelet's repeated reports.
    #[must_use]
    pub fn without_heartbeats(mut self) -> Self {
        self.nodes_need_no_heartbeat = true;
        self
    }

    /// With the parts that pods need: the controllers that make them, and tokens of their service accounts.
    #[must_use]
    pub fn with_pods(mut self) -> Self {
        self.has_pods = true;
        self
    }

    /// Starts etcd, the API server and the controller manager, and waits until the server is ready.
    #[track_caller]
    pub fn start(self) -> ControlPlane {
        ControlPlane::start_with(self)
    }
}

/// A running control plane with a data folder of its own. Dropping it kills it; if the test fails, its logs
/// are shown.
pub struct ControlPlane {
    // A program ends before those that it uses.
    controllers: Option<Program>,
    server: Program,
    etcd: Program,
    settings: Settings,
    ports: Ports,
    client: HttpClient,
    folder: TempDir,
}

struct Ports {
    server: ReservedPort,
    etcd: ReservedPort,
    etcd_peers: ReservedPort,
}

impl ControlPlane {
    /// Starts one with production settings.
    ///
    /// # Panics
    /// If the programs are missing or do not start.
    #[track_caller]
    pub fn start() -> Self {
        Settings::default().start()
    }

    /// The control plane that tests of this program share, each in namespaces of its own; started for the first,
    /// stopped after the last that holds it. For tests that neither run Muster on it nor disturb it.
    #[track_caller]
    pub fn shared() -> Arc<Self> {
        static RUNNING: Mutex<Weak<ControlPlane>> = Mutex::new(Weak::new());
        // A start that panicked left nothing running; the next may try again.
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.upgrade().unwrap_or_else(|| {
            let started = Arc::new(Self::start());
            *running = Arc::downgrade(&started);
            started
        })
    }

    #[track_caller]
    fn start_with(settings: Settings) -> Self {
        let folder = tempfile::Builder::new().prefix("muster-kubernetes-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let ports = Ports {
            server: ReservedPort::reserve(),
            etcd: ReservedPort::reserve(),
            etcd_peers: ReservedPort::reserve(),
        };
        let url = format!("https://127.0.0.1:{}", ports.server.number());
        let authority = write_identities(folder.path(), &url)
            .unwrap_or_else(|error| panic!("the lab's certificates: {error}"));
        let etcd = launch_etcd(&ports, folder.path());
        let server = launch_server(&settings, &ports, folder.path());
        let mut plane = Self {
            controllers: None,
            server,
            etcd,
            settings,
            ports,
            client: HttpClient::trusting(&url, authority.as_bytes())
                .timeout(REQUEST_LIMIT)
                .with_token(TOKEN),
            folder,
        };
        plane.await_ready();
        if !plane.settings.is_without_controllers {
            plane.controllers = Some(launch_controllers(&plane.settings, plane.folder.path()));
        }
        plane
    }

    #[track_caller]
    fn await_ready(&mut self) {
        let Self {
            server, etcd, client, ..
        } = self;
        let mut ask = |path: &str| {
            for program in [&mut *server, &mut *etcd] {
                assert!(
                    program.is_running(),
                    "a part of the control plane ended:\n{}",
                    program.transcript().tail()
                );
            }
            let answer = client.try_request("GET", path, None)?;
            match answer.status {
                200 => Ok(()),
                status => Err(format!("{path}: {status} {}", answer.text())),
            }
        };
        // The namespace is made shortly after the server is ready.
        await_condition("kube-apiserver to be ready", START_LIMIT, || {
            ask("/readyz").and_then(|()| ask("/api/v1/namespaces/default"))
        });
    }

    /// URL of the API server.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.server.number())
    }

    /// The same as machines on user networks reach it.
    pub fn url_for_machines(&self) -> String {
        format!("https://{USER_NETWORK_HOST}:{}", self.ports.server.number())
    }

    /// The administrator's kubeconfig: the server is verified by its authority, the administrator has a certificate.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("admin.kubeconfig")
    }

    /// A kubeconfig for Muster, with the rights of `deploy/base` and of the components `capi` and `metal3`, and no others: a token of its
    /// ServiceAccount. The rights are applied first, with what is asked of others for references into other namespaces.
    #[track_caller]
    pub fn service_kubeconfig(&self) -> PathBuf {
        let kubectl = self.kubectl().namespace(SERVICE_NAMESPACE);
        if !kubectl
            .try_run(&["get", "namespace", SERVICE_NAMESPACE])
            .succeeded
        {
            kubectl.run(&["create", "namespace", SERVICE_NAMESPACE]);
        }
        for part in [
            "base/rbac.yaml",
            "base/references.yaml",
            "capi/rbac.yaml",
            "metal3/rbac.yaml",
            "metal3/references.yaml",
        ] {
            let part = deploy().join(part);
            kubectl.run(&["apply", "-f", &part.display().to_string()]);
        }
        self.kubeconfig_with_token()
    }

    /// The same with the component `deploy/namespaced`, as a user applies it: rights in these namespaces, which are made, and in no others.
    #[track_caller]
    pub fn namespaced_kubeconfig(&self, namespaces: &[&str]) -> PathBuf {
        run(Command::new("cp").arg("-r").arg(deploy()).arg(self.folder.path()));
        let overlay = self.folder.path().join("deploy/chosen");
        let kustomization = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": SERVICE_NAMESPACE,
            "resources": ["../base"], "components": ["../namespaced"],
        });
        fs::create_dir(&overlay)
            .and_then(|()| fs::write(overlay.join("kustomization.yaml"), kustomization.to_string()))
            .unwrap_or_else(|error| panic!("{}: {error}", overlay.display()));
        self.kubectl()
            .run(&["apply", "-k", &overlay.display().to_string()]);
        let account = format!("--serviceaccount={SERVICE_NAMESPACE}:muster");
        for namespace in namespaces {
            self.kubectl().run(&["create", "namespace", namespace]);
            let binding = [
                "create",
                "rolebinding",
                "muster",
                "--clusterrole=muster",
                &account,
            ];
            self.kubectl().namespace(namespace).run(&binding);
        }
        self.kubeconfig_with_token()
    }

    /// A kubeconfig for Muster where clusterctl has installed it: with the rights of its components, and no others. What users apply by itself
    /// is applied.
    #[track_caller]
    pub fn installed_kubeconfig(&self) -> PathBuf {
        let references = deploy().join("base/references.yaml");
        self.kubectl()
            .namespace(SERVICE_NAMESPACE)
            .run(&["apply", "-f", &references.display().to_string()]);
        self.kubeconfig_with_token()
    }

    #[track_caller]
    fn kubeconfig_with_token(&self) -> PathBuf {
        let kubectl = self.kubectl().namespace(SERVICE_NAMESPACE);
        let token = kubectl.run(&["create", "token", "muster", "--duration=24h"]);
        let path = self.folder.path().join("service.kubeconfig");
        let written = fs::read(self.authority()).and_then(|authority| {
            let config = json!({
                "apiVersion": "v1", "kind": "Config", "current-context": "muster",
                "clusters": [{"name": "lab", "cluster": {"server": self.url(), "certificate-authority-data": base64(&authority)}}],
                "users": [{"name": "muster", "user": {"token": token.trim()}}],
                "contexts": [{"name": "muster", "context": {"cluster": "lab", "user": "muster", "namespace": SERVICE_NAMESPACE}}],
            });
            fs::write(&path, config.to_string())
        });
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// The certificate of the authority that signed the server's.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    /// A token with the administrator's rights.
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// The administrator's `kubectl`.
    pub fn kubectl(&self) -> Kubectl {
        Kubectl::new(&self.kubeconfig())
    }

    /// The process id of kube-apiserver.
    pub fn server_id(&self) -> u32 {
        self.server.id()
    }

    /// The process id of etcd.
    pub fn etcd_id(&self) -> u32 {
        self.etcd.id()
    }

    /// Ends the API server like a power cut; etcd keeps its data.
    pub fn kill_server(&mut self) {
        self.server.kill();
    }

    /// Stops the API server, like a network that drops everything; `Signal::SIGCONT` continues it.
    pub fn signal_server(&self, signal: Signal) {
        self.server.signal(signal);
    }

    /// Starts the API server again, on the same port, after [`kill_server`](Self::kill_server), and waits
    /// until it is ready.
    #[track_caller]
    pub fn start_server_again(&mut self) {
        self.server = launch_server(&self.settings, &self.ports, self.folder.path());
        self.await_ready();
    }
}

fn launch_etcd(ports: &Ports, folder: &Path) -> Program {
    let client = format!("http://127.0.0.1:{}", ports.etcd.number());
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peers.number());
    let mut etcd = command(program("etcd"));
    etcd.arg("--data-dir").arg(folder.join("etcd"));
    etcd.args([
        "--listen-client-urls",
        &client,
        "--advertise-client-urls",
        &client,
    ]);
    etcd.args([
        "--listen-peer-urls",
        &peer,
        "--initial-advertise-peer-urls",
        &peer,
    ]);
    etcd.args(["--initial-cluster", &format!("default={peer}")]);
    // A test's data need not survive the computer.
    etcd.args(["--unsafe-no-fsync", "--log-level", "warn"]);
    Program::start_shared("etcd", etcd, &folder.join("etcd.log"))
}

fn launch_server(settings: &Settings, ports: &Ports, folder: &Path) -> Program {
    let mut server = command(program("kube-apiserver"));
    server.args(["--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1"]);
    server.args(["--secure-port", &ports.server.number().to_string()]);
    server.args([
        "--etcd-servers",
        &format!("http://127.0.0.1:{}", ports.etcd.number()),
    ]);
    server.args(["--service-cluster-ip-range", "10.0.0.0/24", "--allow-privileged"]);
    server.args([
        "--authorization-mode",
        "Node,RBAC",
        "--enable-bootstrap-token-auth",
    ]);
    if !settings.has_pods {
        server.args(["--disable-admission-plugins", "ServiceAccount"]);
    }
    // As in OpenShift: only users who may change an owner's finalizers may name it as an owner that blocks a deletion.
    server.args([
        "--enable-admission-plugins",
        "OwnerReferencesPermissionEnforcement",
    ]);
    server.args(["--service-account-issuer", "https://kubernetes.default.svc"]);
    let mut file = |flag: &str, name: &str| {
        server.arg(flag).arg(folder.join(name));
    };
    file("--cert-dir", "made");
    file("--tls-cert-file", "server.crt");
    file("--tls-private-key-file", "server.key");
    file("--client-ca-file", "ca.crt");
    file("--token-auth-file", "tokens.csv");
    file("--service-account-key-file", "accounts.pub");
    file("--service-account-signing-key-file", "accounts.key");
    server.args(&settings.more);
    Program::start_shared("kube-apiserver", server, &folder.join("server.log"))
}

fn launch_controllers(settings: &Settings, folder: &Path) -> Program {
    let wanted = match settings.nodes_need_no_heartbeat {
        true => CONTROLLERS.trim_end_matches(",nodelifecycle"),
        false => CONTROLLERS,
    };
    let wanted = match settings.has_pods {
        true => &format!("{wanted},{POD_CONTROLLERS}"),
        false => wanted,
    };
    let mut controllers = command(program("kube-controller-manager"));
    controllers.args([
        "--secure-port",
        "0",
        "--leader-elect=false",
        "--controllers",
        wanted,
    ]);
    let mut file = |flag: &str, name: &str| {
        controllers.arg(flag).arg(folder.join(name));
    };
    file("--kubeconfig", "admin.kubeconfig");
    file("--cluster-signing-cert-file", "ca.crt");
    file("--cluster-signing-key-file", "ca.key");
    file("--service-account-private-key-file", "accounts.key");
    file("--root-ca-file", "ca.crt");
    Program::start_shared(
        "kube-controller-manager",
        controllers,
        &folder.join("controllers.log"),
    )
}

/// The address of the Service `kubernetes`: the first of `--service-cluster-ip-range`.
pub const SERVICE_ADDRESS: &str = "10.0.0.1";

/// Names of the API server. Machines on user networks find this computer's loopback under the last.
const SERVER_NAMES: [&str; 6] = [
    "127.0.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default.svc",
    SERVICE_ADDRESS,
    USER_NETWORK_HOST,
];

/// Writes keys, certificates, the token and the kubeconfig; returns the authority's certificate.
fn write_identities(folder: &Path, url: &str) -> std::io::Result<String> {
    let authority = Authority::new("lab-kubernetes-ca");
    fs::write(folder.join("ca.crt"), authority.certificate())?;
    fs::write(folder.join("ca.key"), authority.key())?;
    for (name, signed) in [
        ("server", authority.server(&SERVER_NAMES)),
        ("admin", authority.client("lab-admin", "system:masters")),
    ] {
        fs::write(folder.join(format!("{name}.crt")), signed.certificate)?;
        fs::write(folder.join(format!("{name}.key")), signed.key)?;
    }
    let accounts = key_pair();
    fs::write(folder.join("accounts.key"), accounts.serialize_pem())?;
    fs::write(folder.join("accounts.pub"), accounts.public_key_pem())?;
    fs::write(
        folder.join("tokens.csv"),
        format!("{TOKEN},lab-admin,lab-admin,\"system:masters\"\n"),
    )?;
    fs::write(folder.join("admin.kubeconfig"), kubeconfig(folder, url)?)?;
    Ok(authority.certificate().to_owned())
}

/// The manifests for users.
fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy")
}

/// JSON is YAML. All data is inline, so that the file can be a Secret.
fn kubeconfig(folder: &Path, url: &str) -> std::io::Result<String> {
    let inside = |name: &str| fs::read(folder.join(name)).map(|bytes| base64(&bytes));
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": {"server": url, "certificate-authority-data": inside("ca.crt")?}}],
        "users": [{"name": "admin", "user": {"client-certificate-data": inside("admin.crt")?, "client-key-data": inside("admin.key")?}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "admin", "namespace": "default"}}],
    });
    Ok(config.to_string())
}

fn base64(bytes: &[u8]) -> String {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connects(port: u16) -> bool {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    }

    #[test]
    fn a_control_plane_serves_collects_and_ends_with_its_value() {
        let mut plane = ControlPlane::start();
        let kubectl = plane.kubectl().namespace("shelf");
        assert!(kubectl.run(&["version"]).contains("Server Version: v1."));
        kubectl.run(&["create", "namespace", "shelf"]);
        kubectl.run(&["create", "configmap", "owner"]);
        let uid = kubectl.run(&["get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}"]);
        let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]);
        kubectl.apply(&[
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": owner}}),
        ]);
        kubectl.run(&["delete", "configmap", "owner"]);
        kubectl.run(&["wait", "--for=delete", "configmap/owned", "--timeout=120s"]);

        plane.kill_server();
        assert!(!kubectl.try_run(&["get", "namespaces"]).succeeded);
        plane.start_server_again();
        assert!(
            kubectl
                .run(&["get", "namespaces", "-o", "name"])
                .contains("namespace/shelf")
        );

        let ports = [plane.ports.server.number(), plane.ports.etcd.number()];
        assert!(ports.iter().all(|port| connects(*port)));
        drop(plane);
        assert!(!ports.iter().any(|port| connects(*port)));
    }
}
