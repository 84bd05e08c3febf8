//! A cluster that machines join: a control plane that they reach, the objects that a kubelet needs to bootstrap, and
//! the Ignition config of its workers.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::control_plane::{ControlPlane, Settings};
use super::kubectl::Kubectl;

/// Namespace and name of the service account of new machines' kubelets, as in OpenShift: its token may request a
/// kubelet's certificate and nothing else.
const BOOTSTRAPPER: (&str, &str) = ("openshift-machine-config-operator", "node-bootstrapper");

/// The label of a Node with the config from which it was made.
pub const CONFIG_LABEL: &str = "lab.muster.example/config";

const KUBELET_UNIT: &str = "\
[Unit]
Description=kubelet
After=containerd.service network-online.target
Wants=containerd.service

[Service]
ExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.json --bootstrap-kubeconfig=/etc/kubernetes/kubeconfig \
--kubeconfig=/var/lib/kubelet/kubeconfig --cert-dir=/var/lib/kubelet/pki --node-labels=LABEL=CONFIG
Restart=always
RestartSec=2
StandardError=append:/var/log/kubelet.log

[Install]
WantedBy=multi-user.target
";

/// Timeouts of systemd for disks and programs: with the usual 90 seconds some of ten machines on two cores end in
/// emergency mode.
const PATIENCE: &str = "[Manager]\nDefaultDeviceTimeoutSec=20min\nDefaultTimeoutStartSec=20min\n";

/// A workload cluster. Dropping it ends it.
pub struct Workload {
    plane: ControlPlane,
    /// Token of the bootstrapper.
    token: String,
}

impl Workload {
    /// Starts its control plane, and prepares it for new nodes.
    ///
    /// # Panics
    /// If it does not start.
    #[track_caller]
    pub fn start() -> Self {
        Self::start_with(Settings::default())
    }

    /// The same with these settings of the control plane.
    ///
    /// # Panics
    /// If it does not start.
    #[track_caller]
    pub fn start_with(settings: Settings) -> Self {
        let plane = settings.start();
        let kubectl = plane.kubectl();
        let (namespace, account) = BOOTSTRAPPER;
        kubectl.apply(&[
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": namespace}}),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": {"name": "lab-node-bootstrapper"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-bootstrapper",
                },
                "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
            }),
        ]);
        let token = kubectl.run(&["create", "token", account, "-n", namespace, "--duration=12h"]);
        Self {
            plane,
            token: token.trim().to_owned(),
        }
    }

    /// Its control plane.
    pub fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// Its control plane, to be disturbed.
    pub fn plane_mut(&mut self) -> &mut ControlPlane {
        &mut self.plane
    }

    /// The administrator's `kubectl`.
    pub fn kubectl(&self) -> Kubectl {
        self.plane.kubectl()
    }

    /// The administrator's kubeconfig, for programs on this computer.
    ///
    /// # Panics
    /// If it is gone.
    pub fn kubeconfig(&self) -> String {
        fs::read_to_string(self.plane.kubeconfig()).expect("the control plane wrote its kubeconfig")
    }

    /// The Ignition config of its workers. Its bootstrap kubeconfig is in OpenShift's place, and names an address: so
    /// the cluster needs no name in any DNS. `name` distinguishes configs: it becomes the [`CONFIG_LABEL`] of the Node.
    pub fn worker_config(&self, name: &str) -> Value {
        let authority =
            fs::read_to_string(self.plane.authority()).expect("the control plane wrote its certificate");
        let bootstrap = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "bootstrap",
            "clusters": [{"name": "workload", "cluster": {
                "server": self.plane.url_for_machines(), "certificate-authority-data": STANDARD.encode(&authority),
            }}],
            "users": [{"name": "bootstrap", "user": {"token": self.token}}],
            "contexts": [{"name": "bootstrap", "context": {"cluster": "workload", "user": "bootstrap"}}],
        });
        let kubelet = json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": false}, "webhook": {"enabled": true},
                "x509": {"clientCAFile": "/etc/kubernetes/ca.crt"},
            },
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "systemd",
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "serverTLSBootstrap": true,
            "rotateCertificates": true,
            "failSwapOn": false,
            "resolvConf": "/etc/resolv.conf",
            "nodeStatusUpdateFrequency": "5s",
        });
        let network = json!({
            "cniVersion": "0.4.0", "name": "lab", "plugins": [
                {
                    "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true,
                    "ipam": {
                        "type": "host-local", "ranges": [[{"subnet": "10.85.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}],
                    },
                },
                {"type": "portmap", "capabilities": {"portMappings": true}},
            ],
        });
        let unit = KUBELET_UNIT
            .replace("LABEL", CONFIG_LABEL)
            .replace("CONFIG", name);
        json!({
            "ignition": {"version": "3.2.0"},
            "storage": {"files": [
                file("/etc/kubernetes/ca.crt", 0o644, &authority),
                file("/etc/kubernetes/kubeconfig", 0o600, &bootstrap.to_string()),
                file("/etc/kubernetes/kubelet.json", 0o644, &kubelet.to_string()),
                file("/etc/cni/net.d/10-lab.conflist", 0o644, &network.to_string()),
                file("/etc/systemd/system.conf.d/lab.conf", 0o644, PATIENCE),
            ]},
            "systemd": {"units": [{"name": "kubelet.service", "enabled": true, "contents": unit}]},
        })
    }
}

/// A file of an Ignition config.
fn file(path: &str, mode: u32, content: &str) -> Value {
    json!({
        "path": path, "mode": mode, "overwrite": true,
        "contents": {"source": format!("data:;base64,{}", STANDARD.encode(content))},
    })
}
