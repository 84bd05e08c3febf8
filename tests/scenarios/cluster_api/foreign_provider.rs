//! The requests of the unmodified cluster-api-provider-agent, one by one, on our custom resources: with
//! `--capi-provider` off it does the provider's work. Source: docs/protocol/capi-agent-provider.md#1.1 to §6. This file
//! simulates it, and Cluster API's own controllers; hosts and kubelets' identities are simulated as in `kube::joining`.

mod claim;
mod cluster;
mod secrets;
mod world;

use muster_tests::http::{Answer, HttpClient};
use serde_json::{Value, json};

use crate::kube::joining::{ADDRESS, Lab};
use muster_tests::database::{host_id, known_host};
use muster_tests::kube::played_nodes::Workload;
use muster_tests::kube::world::NAMESPACE;
use muster_tests::kube::{Api, on_each_api};

on_each_api!(a_foreign_provider_takes_an_agent_through_its_life);

/// Namespace of the control plane.
const HCP: &str = "clusters-east";
const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const PROVIDER: &str = "capi-provider.agent-install.openshift.io/v1beta1";

fn a_foreign_provider_takes_an_agent_through_its_life(api: Api) {
    let workload = Workload::start();
    let mut lab = Lab::on(api);
    let provider = Provider::of(&mut lab);
    let agent = approved_agent(&lab);
    provider.seed(&lab, &workload);
    provider.discovers();
    provider.starts_informers();
    provider.prepares_the_machine();
    provider.makes_the_cluster_deployment();
    provider.claims(&agent);
    provider.makes_the_install();
    provider.hears_nothing_of_writes_without_a_change(&agent);
    becomes_a_node(&lab, &workload, &provider);
    provider.reports_ready(&agent);
    provider.gives_back(&lab, &agent);
}

/// An approved host of the pool, as the provider expects it.
fn approved_agent(lab: &Lab) -> String {
    known_host(&lab.world.client(), &lab.infra_env, 1);
    let agent = host_id(1);
    lab.await_state(1, "known-unbound");
    lab.world.patch_agent(&agent, &json!({"approved": true}));
    lab.await_agent(1, "to be valid", |agent| {
        is_true(agent, "Connected") && is_true(agent, "Validated") && status_of(agent, "Bound") == "False"
    });
    agent
}

/// The host enters the cluster, is installed, and becomes a node.
fn becomes_a_node(lab: &Lab, workload: &Workload, provider: &Provider) {
    lab.reboots(1);
    let shown = lab.world.client().get(&lab.path(1)).expect(200).json();
    assert_eq!(shown["ignition_endpoint_token_set"], true, "{shown}");
    assert_eq!(shown["machine_config_pool_name"], "ignition", "{shown}");
    let node = workload.join("client-1", "host-1");
    node.make_node(ADDRESS);
    lab.await_stage(1, "Joined");
    let made = workload.kubectl.get(&["node", "host-1"]);
    assert!(
        made["spec"]["providerID"].is_null(),
        "left to the provider: {made}"
    );
    provider.sets_the_node_provider_id(workload);
    node.ask_serving("serving-1", &[ADDRESS]);
    node.report(ADDRESS, true);
    lab.await_stage(1, "Done");
}

struct Provider {
    http: HttpClient,
}

fn path(group: &str, namespace: &str, plural: &str, name: &str) -> String {
    let prefix = if group == "v1" {
        "/api/v1".to_owned()
    } else {
        format!("/apis/{group}")
    };
    format!("{prefix}/namespaces/{namespace}/{plural}/{name}")
        .trim_end_matches('/')
        .to_owned()
}

fn agent_path(name: &str) -> String {
    path("agent-install.openshift.io/v1beta1", NAMESPACE, "agents", name)
}

fn condition<'a>(object: &'a Value, type_: &str) -> &'a Value {
    let mut all = object["status"]["conditions"].as_array().into_iter().flatten();
    all.find(|one| one["type"] == type_).unwrap_or(&Value::Null)
}

fn status_of<'a>(object: &'a Value, type_: &str) -> &'a str {
    condition(object, type_)["status"].as_str().unwrap_or_default()
}

fn is_true(object: &Value, type_: &str) -> bool {
    status_of(object, type_) == "True"
}

impl Provider {
    fn of(lab: &mut Lab) -> Self {
        let builtin = lab.kubectl().clone();
        let http = match lab.world.service.plane() {
            None => builtin.http(),
            Some(plane) => {
                let authority = std::fs::read(plane.authority()).unwrap();
                let kubectl = plane.kubectl();
                for kind in ["clusters", "machines"] {
                    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../api-spec/crds/builtin");
                    let file = format!("{folder}/cluster.x-k8s.io_{kind}.yaml");
                    kubectl.run(&["apply", "--server-side", "-f", &file]);
                }
                kubectl.await_kinds();
                HttpClient::trusting(&plane.url(), &authority).with_token(plane.token())
            }
        };
        Self { http }
    }

    #[track_caller]
    fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.http.request(method, path, Some(body.to_string().as_bytes()))
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        self.http.request("GET", path, None).expect(200).json()
    }

    #[track_caller]
    fn post(&self, path: &str, object: &Value) -> Value {
        self.send("POST", path, object).expect(201).json()
    }

    #[track_caller]
    fn merge(&self, path: &str, patch: &Value) -> Value {
        let http = self.http.with("content-type", "application/merge-patch+json");
        http.request("PATCH", path, Some(patch.to_string().as_bytes()))
            .expect(200)
            .json()
    }
}

fn owner(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
    })
}
