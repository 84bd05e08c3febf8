//! HyperShift around the provider: its namespaces, rights and objects, and the process that it starts.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_tests::artifacts::muster_program;
use muster_tests::condition::await_condition;
use muster_tests::database::{register, reply};
use muster_tests::http::HttpClient;
use muster_tests::kube::played_nodes::{Workload, kubeconfig_secret};
use muster_tests::kube::world::{NAMESPACE, SOON};
use muster_tests::kube::{ControlPlane, Kubectl};
use muster_tests::process::ports::ReservedPort;
use muster_tests::process::{Program, command};
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kube::joining::Lab;

/// Namespace of the control plane.
pub const HCP: &str = "clusters-east";

/// The Lease of upstream's provider.
pub const LEASE: &str = "7605f49b.agent-install.openshift.io";

/// The name of HyperShift's Deployment.
pub const DEPLOYMENT: &str = "capi-provider";

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const PROVIDER: &str = "capi-provider.agent-install.openshift.io/v1beta1";
const PROVIDER_GROUP: &str = "capi-provider.agent-install.openshift.io";
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/hypershift");

/// HyperShift's operator and Cluster API's controllers, simulated.
pub struct HyperShift {
    /// The administrator's, in [`HCP`].
    pub kubectl: Kubectl,
    folder: TempDir,
}

fn owner(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
    })
}

impl HyperShift {
    /// On the API server of a service.
    #[track_caller]
    pub fn on(lab: &mut Lab, workload: Option<&Workload>) -> Self {
        let plane = lab.world.service.plane().expect("a real API server");
        Self::at(plane, workload)
    }

    /// Makes the kinds, the namespace of the control plane, the provider's rights, and the objects of a HostedCluster without machines. The
    /// namespace of the Agents and their kinds are there.
    #[track_caller]
    pub fn at(plane: &ControlPlane, workload: Option<&Workload>) -> Self {
        let administrator = plane.kubectl();
        for kind in [
            "cluster.x-k8s.io_clusters",
            "cluster.x-k8s.io_machines",
            "hypershift.openshift.io_hostedcontrolplanes",
        ] {
            let file = format!(
                "{}/../api-spec/crds/builtin/{kind}.yaml",
                env!("CARGO_MANIFEST_DIR")
            );
            administrator.run(&["apply", "--server-side", "-f", &file]);
        }
        administrator.await_kinds();
        administrator.run(&["create", "namespace", HCP]);
        administrator.run(&["apply", "-f", &format!("{DATA}/roles.yaml")]);
        let hypershift = Self {
            kubectl: administrator.namespace(HCP),
            folder: tempfile::tempdir().unwrap(),
        };
        let authority = fs::read(plane.authority()).unwrap();
        hypershift.write_kubeconfig(&plane.url(), &authority);
        let kubeconfig = match workload {
            Some(workload) => workload.secret("admin-kubeconfig"),
            None => kubeconfig_secret("admin-kubeconfig", "apiVersion: v1\nkind: Config\n"),
        };
        hypershift.makes_cluster(&kubeconfig);
        hypershift
    }

    /// The kubeconfig of a pod with the provider's ServiceAccount.
    #[track_caller]
    fn write_kubeconfig(&self, server: &str, authority: &[u8]) {
        let token = self
            .kubectl
            .run(&["create", "token", "capi-provider", "--duration=4h"]);
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "pod",
            "clusters": [{"name": "hub", "cluster": {"server": server, "certificate-authority-data": STANDARD.encode(authority)}}],
            "users": [{"name": "capi-provider", "user": {"token": token.trim()}}],
            "contexts": [{"name": "pod", "context": {"cluster": "hub", "user": "capi-provider", "namespace": HCP}}],
        });
        fs::write(self.folder().join("kubeconfig"), config.to_string()).unwrap();
    }

    /// HyperShift's Deployment of the provider, with this image.
    #[track_caller]
    pub fn deployment(&self, image: &str) -> Value {
        let file = format!("{DATA}/deployment.yaml");
        let printed = self.kubectl.run(&[
            "create",
            "--dry-run=client",
            "--validate=false",
            "-o",
            "json",
            "-f",
            &file,
        ]);
        let mut deployment: Value = serde_json::from_str(&printed).unwrap();
        deployment["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        deployment
    }

    /// What a service with `--capi-provider` needs beyond the rights of a provider in this namespace: the hosts of the InfraEnv, their
    /// namespace, and the right to make Secrets.
    #[track_caller]
    pub fn gives_rights_to_the_service(&self, lab: &Lab) {
        let given = format!("infraenv.agent-install.openshift.io/agents-for-namespaces={HCP}");
        lab.kubectl()
            .run(&["annotate", "infraenvs", "--all", "--overwrite", &given]);
        let namespace = format!("capi-provider.agent-install.openshift.io/agent-namespace={NAMESPACE}");
        self.kubectl
            .run(&["annotate", "agentcluster", "east", &namespace]);
        self.kubectl.run(&[
            "create",
            "rolebinding",
            "muster-capi-secrets",
            "--clusterrole=muster-capi-secrets",
            "--serviceaccount=muster:muster",
        ]);
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    #[track_caller]
    fn makes_cluster(&self, kubeconfig: &Value) {
        let merge = json!({"ignition": {"version": "3.2.0", "config": {"merge": [{
            "source": "https://ignition.example.test/ignition",
            "httpHeaders": [
                {"name": "Authorization", "value": "Bearer dG9rZW4="},
                {"name": "NodePool", "value": "clusters/east"},
                {"name": "TargetConfigVersionHash", "value": "abc"},
            ],
        }]}}});
        self.kubectl.apply(&[
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret"},
                "stringData": {".dockerconfigjson": PULL_SECRET},
            }),
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "user-data-east-1"},
                "stringData": {"value": merge.to_string()},
            }),
            kubeconfig.clone(),
            json!({
                "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedControlPlane", "metadata": {"name": "east"},
                "spec": {"dns": {"baseDomain": "example.test"}, "pullSecret": {"name": "pull-secret"}},
            }),
            json!({
                "apiVersion": CAPI, "kind": "Cluster",
                "metadata": {"name": "east-abcde", "annotations": {"hypershift.openshift.io/cluster": "clusters/east"}},
                "spec": {
                    "infrastructureRef": {"apiGroup": PROVIDER_GROUP, "kind": "AgentCluster", "name": "east"},
                    "controlPlaneRef": {"apiGroup": "hypershift.openshift.io", "kind": "HostedControlPlane", "name": "east"},
                },
            }),
        ]);
        let ready = json!({"kubeConfig": {"name": "admin-kubeconfig", "key": "kubeconfig"}});
        self.set_status("hostedcontrolplane", "east", &ready);
        let cluster = self.kubectl.get(&["clusters.cluster.x-k8s.io", "east-abcde"]);
        self.kubectl.apply(&[
            json!({
                "apiVersion": PROVIDER, "kind": "AgentCluster",
                "metadata": {"name": "east", "ownerReferences": [owner(&cluster)]},
                "spec": {
                    "ignitionEndpoint": {"url": "https://ignition.example.test/ignition"},
                    "controlPlaneEndpoint": {"host": "api.example.test", "port": 6443},
                },
            }),
            json!({
                "apiVersion": PROVIDER, "kind": "AgentMachineTemplate",
                "metadata": {"name": "east-1a2b", "annotations": {"hypershift.openshift.io/nodePool": "clusters/east"}},
                "spec": {"template": {"spec": {}}},
            }),
        ]);
    }

    #[track_caller]
    fn set_status(&self, kind: &str, name: &str, status: &Value) {
        let patch = json!({ "status": status }).to_string();
        self.kubectl.run(&[
            "patch",
            kind,
            name,
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ]);
    }

    /// A Machine of the NodePool `clusters/east`, and its AgentMachine, as Cluster API makes them.
    #[track_caller]
    pub fn makes_machine(&self, name: &str) {
        let labels = json!({"cluster.x-k8s.io/cluster-name": "east-abcde"});
        let annotations = json!({"hypershift.openshift.io/nodePool": "clusters/east"});
        self.kubectl.apply(&[json!({
            "apiVersion": CAPI, "kind": "Machine",
            "metadata": {
                "name": name, "labels": labels, "annotations": annotations,
                "finalizers": ["machine.cluster.x-k8s.io"],
            },
            "spec": {
                "clusterName": "east-abcde", "bootstrap": {"dataSecretName": "user-data-east-1"},
                "infrastructureRef": {"apiGroup": PROVIDER_GROUP, "kind": "AgentMachine", "name": name},
            },
        })]);
        let machine = self.kubectl.get(&["machines.cluster.x-k8s.io", name]);
        self.kubectl.apply(&[json!({
            "apiVersion": PROVIDER, "kind": "AgentMachine",
            "metadata": {
                "name": name, "labels": labels, "annotations": annotations, "ownerReferences": [owner(&machine)],
            },
            "spec": {},
        })]);
    }

    /// The Agent of an AgentMachine.
    #[track_caller]
    pub fn await_agent_of(&self, name: &str) -> String {
        let what = format!("{name} to take an Agent");
        self.kubectl
            .await_that(&what, &["agentmachine", name], SOON, |seen| {
                seen["status"]["agentRef"]["name"].as_str().map(str::to_owned)
            })
    }

    #[track_caller]
    pub fn await_ready(&self, name: &str) {
        let what = format!("{name} to be ready");
        self.kubectl
            .await_that(&what, &["agentmachine", name], SOON, |seen| {
                (seen["status"]["ready"] == true).then_some(())
            });
    }

    /// Deletes a Machine: its node is drained, then Cluster API waits for the provider's hook.
    #[track_caller]
    pub fn deletes_machine(&self, name: &str) {
        let kind = "machines.cluster.x-k8s.io";
        self.kubectl.run(&["delete", kind, name, "--wait=false"]);
        let waits = json!({"conditions": [{
            "type": "Deleting", "status": "True", "reason": "WaitingForPreTerminateHook", "message": "",
            "lastTransitionTime": "2026-11-22T08:00:00Z",
        }]});
        self.set_status(kind, name, &waits);
    }

    /// Waits until the provider has removed its hook; deletes the AgentMachine then, as Cluster API does, and waits for its end.
    #[track_caller]
    pub fn await_gone(&self, name: &str) {
        let kind = "machines.cluster.x-k8s.io";
        self.kubectl
            .await_that("the hook to be removed", &[kind, name], SOON, |machine| {
                let annotations = machine["metadata"]["annotations"].to_string();
                (!annotations.contains("pre-terminate")).then_some(())
            });
        self.kubectl
            .run(&["delete", "agentmachine", name, "--timeout=90s"]);
        let without = json!({"metadata": {"finalizers": null}}).to_string();
        self.kubectl
            .run(&["patch", kind, name, "--type=merge", "-p", &without]);
    }

    /// The holder of the Lease; empty: it is free.
    #[track_caller]
    pub fn holder(&self) -> String {
        let output = self
            .kubectl
            .try_run(&["get", "lease", LEASE, "-o", "jsonpath={.spec.holderIdentity}"]);
        output.out
    }

    #[track_caller]
    pub fn await_holder(&self, holder: &str) {
        await_condition(&format!("{holder} to hold the Lease"), SOON, || {
            match self.holder() {
                found if found == holder => Ok(()),
                found => Err(found),
            }
        });
    }

    /// Waits for an Event about the AgentCluster with these words.
    #[track_caller]
    pub fn await_event(&self, words: &str) {
        let what = format!("an Event with {words:?}");
        self.kubectl.await_that(&what, &["events"], SOON, |events| {
            let mut all = events["items"].as_array()?.iter();
            all.any(|event| {
                event["reason"] == "OtherProvider"
                    && event["involvedObject"]["name"] == "east"
                    && event["message"].as_str().unwrap_or_default().contains(words)
            })
            .then_some(())
        });
    }
}

/// The running provider.
pub struct Manager {
    pub program: Program,
    probes: HttpClient,
    metrics: HttpClient,
    _ports: [ReservedPort; 2],
}

impl Manager {
    /// Starts it as `/manager` with the arguments of HyperShift's Deployment, on ports of this test.
    #[track_caller]
    pub fn start(hypershift: &HyperShift) -> Self {
        let folder = hypershift.folder();
        let link = folder.join("manager");
        if !link.exists() {
            symlink(muster_program(), &link).unwrap();
        }
        let ports = [ReservedPort::reserve(), ReservedPort::reserve()];
        let deployment = hypershift.deployment("");
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let arguments = container["args"].as_array().unwrap().iter().map(|argument| {
            let argument = argument.as_str().unwrap();
            argument
                .replace("$(MY_NAMESPACE)", HCP)
                .replace(":8081", &format!(":{}", ports[0].number()))
                .replace(":8080", &format!(":{}", ports[1].number()))
        });
        let mut manager = command(&link);
        manager
            .args(arguments)
            .env("KUBECONFIG", folder.join("kubeconfig"))
            // The workload cluster is on this computer.
            .env("MUSTER_WORKLOAD_NETWORKS", "127.0.0.0/8")
            .current_dir(folder);
        let url = |port: &ReservedPort| HttpClient::new(&format!("http://127.0.0.1:{}", port.number()));
        let (probes, metrics) = (url(&ports[0]), url(&ports[1]));
        Self {
            program: Program::start_shared("manager", manager, &folder.join("manager.log")),
            probes,
            metrics,
            _ports: ports,
        }
    }

    /// As a kubelet requests them.
    #[track_caller]
    pub fn answers_probes(&mut self) {
        for path in ["/healthz", "/readyz"] {
            await_condition(&format!("{path} to be answered"), SOON, || {
                assert!(self.program.is_running(), "it ended");
                let answer = self.probes.try_request("GET", path, None)?;
                match answer.status {
                    200 => Ok(()),
                    status => Err(format!("{status} {}", answer.text())),
                }
            });
        }
    }

    /// Waits until `/readyz` describes this state.
    #[track_caller]
    pub fn awaits_its_turn(&mut self, state: &str) {
        await_condition(&format!("the manager to be {state:?}"), SOON, || {
            let text = self.probes.try_request("GET", "/readyz", None)?.text();
            if text == state { Ok(()) } else { Err(text) }
        });
    }

    #[track_caller]
    pub fn metrics(&self) -> String {
        self.metrics.request("GET", "/metrics", None).expect(200).text()
    }

    /// No request was refused for want of rights.
    #[track_caller]
    pub fn was_never_refused(&self) {
        let metrics = self.metrics();
        let refused =
            |line: &&str| line.starts_with("rest_client_requests_total") && line.contains("code=\"403\"");
        let refused: Vec<&str> = metrics.lines().filter(refused).collect();
        let log = self.program.transcript().text();
        assert!(refused.is_empty(), "{refused:?}\n{log}");
        assert!(!log.to_ascii_lowercase().contains("forbidden"), "{log}");
    }
}

/// The host leaves its cluster: the agent on the node answers, and the machine boots into discovery.
#[track_caller]
pub fn returns(lab: &Lab, number: u64) {
    let client = lab.world.client();
    let instructions = format!("{}/instructions", lab.path(number));
    let agent = muster_tests::database::host_id(number);
    await_condition("the host to be unbound", Duration::from_secs(300), || {
        let seen = lab.kubectl().get(&["agent", &agent]);
        let state = seen["status"]["debugInfo"]["state"].as_str().unwrap_or_default();
        match state {
            "reclaiming" => {
                if client
                    .get(&instructions)
                    .text()
                    .contains("download-boot-artifacts")
                {
                    client.post(&instructions, &reply("download-boot-artifacts", &json!({})));
                }
                Err(state.to_owned())
            }
            "reclaiming-rebooting" => {
                register(&client, &lab.infra_env, number);
                Err(state.to_owned())
            }
            state if state.ends_with("-unbound") || state == "unbinding-pending-user-action" => Ok(()),
            state => Err(state.to_owned()),
        }
    });
}
