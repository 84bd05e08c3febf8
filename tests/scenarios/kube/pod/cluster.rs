//! A cluster for pods of Muster, and overlays of `deploy/` that are applied to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use muster_tests::artifacts::project_root;
use muster_tests::certificates::Authority;
use muster_tests::kube::{Kubectl, Settings, Workload};
use muster_tests::process::run;
use muster_tests::qemu::USER_NETWORK_HOST;
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Time limit for a controller; a lease that was not released lasts 15 s.
pub const SOON: Duration = Duration::from_secs(120);

const NAMESPACE: &str = "muster";
/// Name for hosts that boot, and in the certificate.
pub const NAME: &str = "muster.lab.example";
/// Name of the database in the pods' /etc/hosts.
pub const DATABASE: &str = "database.lab.example";
/// As OpenShift's restricted-v2 chooses one in the namespace's range.
pub const ARBITRARY_USER: u32 = 1_000_680_000;

/// A cluster with the objects that pods of Muster need, and overlays of `deploy/`: `plain`, and on top of it
/// `restricted`.
pub struct Cluster {
    pub workload: Workload,
    /// The signer of the certificate in the Secret `muster-tls`.
    pub authority: Authority,
    folder: TempDir,
}

impl Cluster {
    #[track_caller]
    pub fn start(image: &str, database: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workload = Workload::start_with(Settings::default().with_pods());
        let kubectl = workload.kubectl();
        let deploy = project_root().join("deploy");
        kubectl.run(&["apply", "-k", &deploy.join("crds").display().to_string()]);
        let foreign = project_root().join("api-spec/crds/foreign");
        kubectl.run(&["apply", "-f", &foreign.display().to_string()]);
        kubectl.await_kinds();
        kubectl.run(&["create", "namespace", NAMESPACE]);
        kubectl.run(&["create", "namespace", "lab"]);
        let authority = Authority::new("lab-pods");
        let signed = authority.server(&[NAME, "127.0.0.1"]);
        kubectl.apply(&[
            secret(NAMESPACE, "muster-database", &json!({"url": database})),
            secret("lab", "pull-secret", &json!({".dockerconfigjson": PULL_SECRET})),
            secret(
                NAMESPACE,
                "muster-tls",
                &json!({"tls.crt": signed.certificate, "tls.key": signed.key, "ca.crt": authority.certificate()}),
            ),
        ]);
        run(Command::new("cp").arg("-r").arg(&deploy).arg(folder.path()));
        overlay(folder.path(), "plain", &plain(image), &host_names());
        overlay(folder.path(), "restricted", &restricted(), &another_user());
        Self {
            workload,
            authority,
            folder,
        }
    }

    pub fn kubectl(&self) -> Kubectl {
        self.workload.kubectl().namespace(NAMESPACE)
    }

    #[track_caller]
    pub fn apply(&self, overlay: &str) {
        let overlay = self.folder.path().join("deploy").join(overlay);
        self.kubectl()
            .run(&["apply", "-k", &overlay.display().to_string()]);
    }

    /// Makes Pod Security refuse in Muster's namespace what OpenShift's restricted-v2 would refuse.
    #[track_caller]
    pub fn admit_restricted_pods_alone(&self) {
        let kubectl = self.kubectl();
        let admission = "pod-security.kubernetes.io/enforce=restricted";
        kubectl.run(&["label", "namespace", NAMESPACE, admission]);
        kubectl.await_that(
            "an account for pods",
            &["serviceaccount", "default"],
            SOON,
            |_| Some(()),
        );
        let refused = kubectl.try_run(&["run", "careless", "--image", "registry.lab.example/pause:1"]);
        assert!(
            !refused.succeeded && refused.err.contains("violates PodSecurity"),
            "{}{}",
            refused.out,
            refused.err
        );
    }

    /// Pods that are not being deleted.
    #[track_caller]
    pub fn pods(&self) -> Vec<Value> {
        let seen = self.kubectl().get(&["pods"]);
        let all = seen["items"].as_array().into_iter().flatten();
        all.filter(|pod| pod["metadata"]["deletionTimestamp"].is_null())
            .cloned()
            .collect()
    }
}

fn secret(namespace: &str, name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "stringData": data,
    })
}

/// Writes an overlay of the copy of `deploy/` in `folder`: a kustomization, and its changes of the Deployment.
fn overlay(folder: &Path, name: &str, kustomization: &Value, deployment: &Value) {
    let folder: PathBuf = folder.join("deploy").join(name);
    fs::create_dir(&folder).unwrap();
    let mut kustomization = kustomization.clone();
    kustomization["apiVersion"] = json!("kustomize.config.k8s.io/v1beta1");
    kustomization["kind"] = json!("Kustomization");
    kustomization["namespace"] = json!(NAMESPACE);
    kustomization["patches"] = json!([{"path": "deployment.yaml"}]);
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "muster"},
        "spec": {"template": {"spec": deployment}},
    });
    // JSON is YAML.
    fs::write(folder.join("kustomization.yaml"), kustomization.to_string()).unwrap();
    fs::write(folder.join("deployment.yaml"), deployment.to_string()).unwrap();
}

/// An overlay of `base`, as `example/` is one.
fn plain(image: &str) -> Value {
    let (name, tag) = image.rsplit_once(':').unwrap();
    json!({
        "resources": ["../base"],
        "configMapGenerator": [{"name": "muster", "behavior": "merge", "literals": [
            format!("MUSTER_PUBLIC_URL=https://{NAME}:8090"), format!("MUSTER_BOOT_URL=http://{NAME}:8091"),
        ]}],
        "images": [{"name": "localhost/muster", "newName": name, "newTag": tag}],
    })
}

/// The lab has no DNS of its own: the database's name is in /etc/hosts.
fn host_names() -> Value {
    json!({"hostAliases": [{"ip": USER_NETWORK_HOST, "hostnames": [DATABASE]}]})
}

fn restricted() -> Value {
    json!({"resources": ["../plain"], "components": ["../tls"]})
}

/// The settings that restricted-v2 writes into pods.
fn another_user() -> Value {
    json!({"securityContext": {"runAsUser": ARBITRARY_USER, "fsGroup": ARBITRARY_USER}})
}
