//! A workload cluster for tests of joining: a real API server with its signer, and identities of nodes that request
//! certificates and create their Nodes like kubelets. The real kubelet has its own scenarios.

#![expect(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

use std::time::Duration;

use crate::condition::await_condition;
use crate::http::HttpClient;
use crate::kube::{ControlPlane, Kubectl, KubeletCertificate};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, SanType};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Time limit of an approval and of the signer together.
const SIGNED_LIMIT: Duration = Duration::from_secs(60);

/// The bootstrap token of the cluster.
const TOKEN: &str = "abcdef.0123456789abcdef";

/// A cluster that hosts join.
pub struct Workload {
    pub plane: ControlPlane,
    pub kubectl: Kubectl,
}

impl Workload {
    /// Starts one in which bootstrap tokens may request nodes' certificates.
    #[track_caller]
    pub fn start() -> Self {
        let plane = ControlPlane::start();
        let kubectl = plane.kubectl();
        kubectl.apply(&[
            json!({
                "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
                "metadata": {"name": "bootstrap-token-abcdef", "namespace": "kube-system"},
                "stringData": {
                    "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
                    "auth-extra-groups": "system:bootstrappers:lab",
                },
            }),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "bootstrap"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-bootstrapper"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:bootstrappers"}],
            }),
        ]);
        Self { plane, kubectl }
    }

    /// The Secret with the administrator's kubeconfig, for the management cluster.
    pub fn secret(&self, name: &str) -> Value {
        let kubeconfig = std::fs::read_to_string(self.plane.kubeconfig()).unwrap();
        kubeconfig_secret(name, &kubeconfig)
    }

    fn client(&self, token: &str) -> HttpClient {
        let authority = std::fs::read(self.plane.authority()).unwrap();
        HttpClient::trusting(&self.plane.url(), &authority).with_token(token)
    }

    /// Requests a client certificate with the bootstrap token; returns the key.
    #[track_caller]
    pub fn ask_by_token(&self, csr: &str, node: &str) -> KeyPair {
        let key = KeyPair::generate().unwrap();
        let body = KubeletCertificate::Client.request(csr, node, &key, Vec::new());
        let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
        let body = body.to_string();
        // The token authenticator and the binding take effect a moment after their creation.
        await_condition("the bootstrap token to be accepted", SIGNED_LIMIT, || {
            let answer = self
                .client(TOKEN)
                .try_request("POST", path, Some(body.as_bytes()))?;
            match answer.status {
                201 => Ok(()),
                _ => Err(answer.text()),
            }
        });
        key
    }

    /// The certificate (PEM) of a request that was approved and signed.
    #[track_caller]
    pub fn await_certificate(&self, csr: &str) -> String {
        let what = format!("{csr} to be approved and signed");
        let certificate = self
            .kubectl
            .await_that(&what, &["csr", csr], SIGNED_LIMIT, |seen| {
                seen["status"]["certificate"].as_str().map(str::to_owned)
            });
        String::from_utf8(STANDARD.decode(certificate).unwrap()).unwrap()
    }

    /// True if a request is neither approved nor denied.
    #[track_caller]
    pub fn is_pending(&self, csr: &str) -> bool {
        let seen = self.kubectl.get(&["csr", csr]);
        seen["status"]["conditions"].as_array().is_none_or(Vec::is_empty)
    }

    /// Becomes a node: requests a certificate with the bootstrap token, and waits for it.
    #[track_caller]
    pub fn join(&self, csr: &str, node: &str) -> Identity {
        let key = self.ask_by_token(csr, node);
        let certificate = self.await_certificate(csr);
        self.identity(node, &certificate, &key)
    }

    /// The node that has this certificate.
    pub fn identity(&self, node: &str, certificate: &str, key: &KeyPair) -> Identity {
        let authority = std::fs::read(self.plane.authority()).unwrap();
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "node",
            "clusters": [{"name": "lab", "cluster": {
                "server": self.plane.url(), "certificate-authority-data": STANDARD.encode(authority),
            }}],
            "users": [{"name": "node", "user": {
                "client-certificate-data": STANDARD.encode(certificate), "client-key-data": STANDARD.encode(key.serialize_pem()),
            }}],
            "contexts": [{"name": "node", "context": {"cluster": "lab", "user": "node"}}],
        });
        let folder = tempfile::Builder::new().prefix("muster-node-").tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        std::fs::write(&file, config.to_string()).unwrap();
        Identity {
            name: node.to_owned(),
            kubectl: Kubectl::new(&file),
            _folder: folder,
        }
    }
}

/// A Secret with this kubeconfig.
pub fn kubeconfig_secret(name: &str, kubeconfig: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"kubeconfig": kubeconfig},
    })
}

/// A node with a certificate of its own.
pub struct Identity {
    name: String,
    kubectl: Kubectl,
    _folder: TempDir,
}

impl Identity {
    /// Creates its Node, which is not ready.
    #[track_caller]
    pub fn make_node(&self, address: &str) {
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name, "labels": {"kubernetes.io/hostname": self.name}},
        });
        self.kubectl.run_with(&["create", "-f", "-"], &node.to_string());
        self.report(address, false);
    }

    /// Reports its address and whether it is ready.
    #[track_caller]
    pub fn report(&self, address: &str, is_ready: bool) {
        let now = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        let (status, reason) = if is_ready {
            ("True", "KubeletReady")
        } else {
            ("False", "KubeletNotReady")
        };
        // kubectl's patch would read the status, which nodes may only write.
        let mut node = self.kubectl.get(&["node", &self.name]);
        node["status"]["addresses"] = json!([
            {"type": "InternalIP", "address": address}, {"type": "Hostname", "address": self.name},
        ]);
        node["status"]["conditions"] = json!([{
            "type": "Ready", "status": status, "reason": reason, "message": "says the lab",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        }]);
        let path = format!("/api/v1/nodes/{}/status", self.name);
        self.kubectl
            .run_with(&["replace", "--raw", &path, "-f", "-"], &node.to_string());
    }

    /// Requests a serving certificate.
    #[track_caller]
    pub fn ask_serving(&self, csr: &str, addresses: &[&str]) {
        let key = KeyPair::generate().unwrap();
        let mut names: Vec<SanType> = addresses
            .iter()
            .map(|text| SanType::IpAddress(text.parse().unwrap()))
            .collect();
        names.insert(0, SanType::DnsName(self.name.as_str().try_into().unwrap()));
        let body = KubeletCertificate::Serving.request(csr, &self.name, &key, names);
        self.kubectl.run_with(&["create", "-f", "-"], &body.to_string());
    }
}
