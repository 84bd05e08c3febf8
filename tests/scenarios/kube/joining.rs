//! From the reboot of an installed host to the node: certificate requests, Nodes, stages, and workload clusters that do
//! not respond. The workload cluster is a real API server with its signer; hosts and kubelets' identities are
//! simulated.

use muster_tests::condition::await_condition;
use muster_tests::database::{host_id, known_host, register};
use muster_tests::hosts::clusters::report;
use muster_tests::kube::played_nodes::{Workload, kubeconfig_secret};
use muster_tests::kube::world::{NAMESPACE, SOON, World, imported_cluster, infra_env, message};
use muster_tests::kube::{Api, KubeServed, Kubectl, on_each_api};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

on_each_api!(a_host_becomes_a_node_by_its_own_requests);

/// Address that all made-up hosts report.
pub const ADDRESS: &str = "198.51.100.11";

/// A management cluster with one workload cluster, and hosts that have rebooted into their installed system.
pub struct Lab {
    pub world: World,
    pub infra_env: String,
}

impl Lab {
    #[track_caller]
    pub fn on(api: Api) -> Self {
        Self::of(api.serve())
    }

    #[track_caller]
    pub fn of(service: KubeServed) -> Self {
        let world = World::of(service);
        world.secret(muster_tests::rest::PULL_SECRET);
        world.kubectl.apply(&[infra_env(&json!({}))]);
        let infra_env = await_condition("REST to know the InfraEnv", SOON, || {
            let all = world.client().get("/infra-envs").expect(200).json();
            let id = all[0]["id"].as_str();
            id.map(|id| format!("/infra-envs/{id}"))
                .ok_or_else(|| all.to_string())
        });
        Self { world, infra_env }
    }

    /// Creates a cluster with its kubeconfig in `secret`, which is named `<name>-kubeconfig`.
    #[track_caller]
    fn cluster(&self, name: &str, secret: Value) {
        let [deployment, install] = imported_cluster(name);
        self.kubectl().apply(&[secret, deployment, install]);
    }

    pub fn kubectl(&self) -> &Kubectl {
        &self.world.kubectl
    }

    pub fn path(&self, n: u64) -> String {
        format!("{}/hosts/{}", self.infra_env, host_id(n))
    }

    /// Moves the host number `n` (`host-<n>`) into the cluster, and to its reboot.
    #[track_caller]
    fn rebooted(&self, n: u64, cluster: &str, spec: &Value) {
        known_host(&self.world.client(), &self.infra_env, n);
        let agent = host_id(n);
        self.await_agent(n, "to be there", |agent| {
            agent["status"]["debugInfo"]["state"].is_string()
        });
        let mut spec = spec.clone();
        spec["clusterDeploymentName"] = json!({"name": cluster, "namespace": NAMESPACE});
        spec["approved"] = json!(true);
        self.world.patch_agent(&agent, &spec);
        self.reboots(n);
    }

    /// The bound host registers in its cluster, is installed, and reboots.
    #[track_caller]
    pub fn reboots(&self, n: u64) {
        let (client, host) = (self.world.client(), self.path(n));
        self.await_state(n, "binding");
        register(&client, &self.infra_env, n);
        report(&client, &host, n);
        self.await_state(n, "installing");
        for stage in ["Installing", "Writing image to disk", "Rebooting"] {
            let body = json!({ "current_stage": stage });
            client.put(&format!("{host}/progress"), &body).expect(200);
        }
    }

    #[track_caller]
    pub fn await_agent(&self, n: u64, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let agent = host_id(n);
        self.kubectl().await_that(
            &format!("the Agent {agent} {what}"),
            &["agent", &agent],
            SOON,
            |seen| fits(seen).then(|| seen.clone()),
        )
    }

    #[track_caller]
    pub fn await_state(&self, n: u64, state: &str) {
        self.await_agent(n, &format!("to be {state}"), |agent| {
            agent["status"]["debugInfo"]["state"] == state
        });
    }

    #[track_caller]
    pub fn await_stage(&self, n: u64, stage: &str) -> Value {
        self.await_agent(n, &format!("to be at {stage}"), |agent| {
            agent["status"]["progress"]["currentStage"] == stage
        })
    }

    /// Waits until the condition `Installed` has this message.
    #[track_caller]
    fn await_words(&self, n: u64, words: &str) {
        self.await_agent(n, &format!("to say {words:?}"), |agent| {
            message(agent, "Installed").contains(words)
        });
    }

    /// Waits for an Event about an object with these words in its note; returns how often it was published.
    #[track_caller]
    fn await_event(&self, object: &str, reason: &str, words: &str) -> usize {
        let what = format!("an Event {reason} about {object} with {words:?}");
        self.kubectl().await_that(&what, &["events"], SOON, |events| {
            let all = events["items"].as_array()?;
            let found = all.iter().filter(|event| {
                event["reason"] == reason
                    && event["involvedObject"]["name"] == object
                    && event["message"].as_str().unwrap_or_default().contains(words)
            });
            Some(found.count()).filter(|count| *count > 0)
        })
    }

    fn stage(&self, n: u64) -> Value {
        self.world.client().get(&self.path(n)).json()["progress"]["current_stage"].clone()
    }
}

fn approved_sorts(agent: &Value) -> Vec<&str> {
    let all = agent["status"]["csrStatus"]["approvedCSRs"].as_array();
    all.into_iter()
        .flatten()
        .filter_map(|csr| csr["type"].as_str())
        .collect()
}

fn a_host_becomes_a_node_by_its_own_requests(api: Api) {
    let workload = Workload::start();
    let mut lab = Lab::on(api);
    lab.cluster("east", workload.secret("east-kubeconfig"));
    lab.rebooted(1, "east", &json!({"nodeLabels": {"rack": "r1"}}));
    let agent = host_id(1);
    lab.kubectl()
        .run(&["label", "agent", &agent, "agentMachineRef=machine-1"]);
    lab.await_words(1, "has not requested a certificate yet");

    let node = workload.join("client-1", "host-1");
    let seen = lab.await_stage(1, "Configuring");
    assert_eq!(approved_sorts(&seen), ["client"]);

    // A service that is killed in between loses nothing.
    lab.world.service.kill();
    node.make_node(ADDRESS);
    node.ask_serving("serving-1", &[ADDRESS]);
    lab.world.service.start_again();
    workload.await_certificate("serving-1");
    let seen = lab.await_stage(1, "Joined");
    assert_eq!(seen["status"]["csrStatus"]["approvedCSRs"][0]["name"], "client-1");
    lab.await_words(1, "KubeletNotReady: says the lab");
    let made = workload.kubectl.get(&["node", "host-1"]);
    assert_eq!(made["metadata"]["labels"]["rack"], "r1");
    assert!(
        made["spec"]["providerID"].is_null(),
        "no provider of Cluster API is on: {made}"
    );

    node.report(ADDRESS, true);
    let seen = lab.await_stage(1, "Done");
    assert_eq!(approved_sorts(&seen), ["client", "serving"]);
    assert_eq!(seen["status"]["debugInfo"]["state"], "added-to-existing-cluster");
    assert_eq!(seen["status"]["progress"]["installationPercentage"], 100);
}

#[test]
fn requests_of_other_names_are_told_and_never_approved() {
    let workload = Workload::start();
    let lab = Lab::on(Api::BuiltIn);
    lab.cluster("east", workload.secret("east-kubeconfig"));
    lab.rebooted(1, "east", &json!({}));
    workload.ask_by_token("stranger", "stranger");
    workload.ask_by_token("long", "host-1.example.test");
    lab.await_event("east", "ForeignCertificateRequest", "\"stranger\"");
    lab.await_event(
        &host_id(1),
        "CertificateRequestNotApproved",
        "host-1.example.test",
    );
    lab.await_words(1, "spec.hostname");

    // Meanwhile the host's own request is approved, and the others are reported once.
    let node = workload.join("own", "host-1");
    node.make_node(ADDRESS);
    lab.await_stage(1, "Joined");
    // Not an address of this host.
    node.ask_serving("lying", &["203.0.113.99"]);
    lab.await_event(&host_id(1), "CertificateRequestNotApproved", "203.0.113.99");
    node.report(ADDRESS, true);
    lab.await_words(1, "lying");
    // Each was evaluated, since it was reported.
    let pending = ["stranger", "long", "lying"].map(|csr| workload.is_pending(csr));
    assert_eq!(pending, [true; 3]);
    assert_eq!(
        lab.await_event("east", "ForeignCertificateRequest", "\"stranger\""),
        1
    );
    // An administrator decides, which is recorded.
    workload.kubectl.run(&["certificate", "approve", "lying"]);
    let seen = lab.await_stage(1, "Done");
    assert_eq!(approved_sorts(&seen), ["client", "serving"]);
}

#[test]
fn a_dead_cluster_costs_only_its_own_hosts() {
    let workload = Workload::start();
    let lab = Lab::on(Api::BuiltIn);
    let kubeconfig = std::fs::read_to_string(workload.plane.kubeconfig()).unwrap();
    let port = muster_tests::process::ports::ReservedPort::reserve();
    let nobody = kubeconfig.replace(
        &workload.plane.url(),
        &format!("https://127.0.0.1:{}", port.number()),
    );
    let program = json!({
        "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": workload.plane.url()}}],
        "users": [{"name": "x", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/true"}}}],
    });
    lab.cluster("refusing", kubeconfig_secret("refusing-kubeconfig", &nobody));
    lab.cluster(
        "executing",
        kubeconfig_secret("executing-kubeconfig", &program.to_string()),
    );
    lab.cluster("east", workload.secret("east-kubeconfig"));
    for (n, cluster) in [(1, "refusing"), (2, "executing"), (3, "east")] {
        lab.rebooted(n, cluster, &json!({}));
    }
    lab.await_words(1, "efused");
    lab.await_words(2, "exec");
    lab.await_words(3, "has not requested a certificate yet");

    // A silent cluster is reported, and the wait continues when it responds again.
    workload.plane.signal_server(Signal::SIGSTOP);
    lab.await_words(3, "cannot be reached: the cluster has not answered since");
    lab.await_event(&host_id(1), "InstallationStage", "efused");
    workload.plane.signal_server(Signal::SIGCONT);
    let node = workload.join("client-3", "host-3");
    node.make_node(ADDRESS);
    node.report(ADDRESS, true);
    lab.await_stage(3, "Done");
    assert_eq!(lab.stage(1), "Rebooting");

    // A corrected kubeconfig is detected.
    lab.kubectl().apply(&[workload.secret("refusing-kubeconfig")]);
    workload.join("client-1", "host-1");
    lab.await_stage(1, "Configuring");
}
