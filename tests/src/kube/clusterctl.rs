//! `clusterctl`, as users type it, with repositories in a folder: nothing leaves this computer. Source: docs/protocol/capi-day1.md#1, "clusterctl".

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::cluster_api::ClusterApi;
use super::control_plane::ControlPlane;
use super::programs::program;
use crate::artifacts::project_root;
use crate::process::{command, output_within, run};

/// It waits a second before it tries again, up to nine times, and moves some dozens of objects.
const LIMIT: Duration = Duration::from_secs(300);

/// Values of the variables in Muster's components, which no pod of the lab reads.
const VARIABLES: [(&str, &str); 3] = [
    ("MUSTER_PUBLIC_URL", "http://192.0.2.10:8090"),
    ("MUSTER_BOOT_URL", "http://192.0.2.10:8091"),
    ("MUSTER_DATABASE_URL", "postgres://muster:lab@192.0.2.11/muster"),
];

/// clusterctl with its configuration, for one management cluster.
pub struct Clusterctl {
    kubeconfig: PathBuf,
    folder: TempDir,
}

impl Clusterctl {
    /// With repositories of Muster, as `make manifests` lays it out, and of the providers that run in the management cluster. cert-manager
    /// cannot be had here; its two kinds are made without it, which is what clusterctl looks at where others provide it.
    ///
    /// # Panics
    /// If a repository cannot be laid out.
    #[track_caller]
    pub fn new(plane: &ControlPlane, cluster_api: &ClusterApi) -> Self {
        let folder = tempfile::Builder::new().prefix("muster-clusterctl-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let kubectl = plane.kubectl();
        kubectl.apply(&[stub("Issuer"), stub("Certificate")]);
        kubectl.await_kinds();
        let mut providers = cluster_api.repository(&kubectl, folder.path());
        providers.push(muster(folder.path()));
        let configuration =
            json!({"providers": providers, "cert-manager": {"externallyProvisioned": "true"}}).to_string();
        let file = folder.path().join("clusterctl.yaml");
        fs::write(&file, configuration).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        Self {
            kubeconfig: plane.kubeconfig(),
            folder,
        }
    }

    /// `clusterctl init --infrastructure muster`; returns what it prints.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn init(&self) -> String {
        self.run(&["init", "--infrastructure", "muster"])
    }

    /// `clusterctl generate cluster`: a cluster whose API is at this port of 127.0.0.1, with one control plane.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn generate(
        &self,
        (namespace, name): (&str, &str),
        version: &str,
        workers: usize,
        port: u16,
    ) -> String {
        let workers = workers.to_string();
        let mut generate = self.command(&["generate", "cluster", name, "--infrastructure", "muster"]);
        generate.args(["--target-namespace", namespace, "--kubernetes-version", version]);
        generate.args([
            "--control-plane-machine-count",
            "1",
            "--worker-machine-count",
            &workers,
        ]);
        generate.env("CONTROL_PLANE_ENDPOINT_HOST", "127.0.0.1");
        generate.env("CONTROL_PLANE_ENDPOINT_PORT", port.to_string());
        finish(&mut generate).0
    }

    /// `clusterctl move` of a namespace to another management cluster.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn move_to(&self, other: &ControlPlane, namespace: &str) -> String {
        let other = other.kubeconfig().display().to_string();
        self.run(&["move", "--namespace", namespace, "--to-kubeconfig", &other])
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        let (out, err) = finish(&mut self.command(arguments));
        out + &err
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut clusterctl = isolated("clusterctl", self.folder.path());
        clusterctl
            .args(arguments)
            .arg("--config")
            .arg(self.folder.path().join("clusterctl.yaml"));
        clusterctl.env("KUBECONFIG", &self.kubeconfig).envs(VARIABLES);
        clusterctl.env("CLUSTERCTL_DISABLE_VERSIONCHECK", "true");
        clusterctl
    }
}

/// The program without the user's settings, in a folder that is its home. What it would fetch fails at once.
pub(super) fn isolated(name: &str, home: &Path) -> Command {
    let mut isolated = command(program(name));
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy().to_ascii_lowercase();
        if name.ends_with("_proxy")
            || name.starts_with("kube")
            || name.starts_with("xdg_")
            || name.starts_with("helm_")
        {
            isolated.env_remove(variable);
        }
    }
    isolated
        .env("HOME", home)
        .envs([("GOPROXY", "off"), ("HTTPS_PROXY", "http://127.0.0.1:9")])
        .env("NO_PROXY", "127.0.0.1,localhost")
        .current_dir(home);
    isolated
}

/// What a program printed, and what it reported.
#[track_caller]
pub(super) fn finish(command: &mut Command) -> (String, String) {
    let output = output_within(command.stdin(Stdio::piped()), b"", LIMIT);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}:\n{out}{err}");
    (out, err)
}

/// The entry of Muster's repository, which is laid out by the script of `make manifests`.
#[track_caller]
fn muster(folder: &Path) -> Value {
    let mut script = Command::new(project_root().join(".ci/clusterctl"));
    run(script.arg(folder).env("KUBECTL", program("kubectl")));
    let releases = folder.join("infrastructure-muster");
    let found = fs::read_dir(&releases).and_then(|mut all| all.next().transpose());
    let release = match found {
        Ok(Some(release)) => release.path(),
        other => panic!("{}: {other:?}", releases.display()),
    };
    let components = release.join("infrastructure-components.yaml");
    json!({"name": "muster", "type": "InfrastructureProvider", "url": components})
}

/// A kind of cert-manager's, of which clusterctl makes and deletes one object.
fn stub(kind: &str) -> Value {
    let (group, singular) = ("cert-manager.io", kind.to_lowercase());
    let plural = format!("{singular}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": singular},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}
