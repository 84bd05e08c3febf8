//! A NodePool on the built-in Kubernetes API with our infrastructure provider: what `hcp create cluster agent --render` prints is applied
//! as it is, and `kubectl scale nodepool` takes Agents and gives them back. The hosts are played over REST, up to their new start; whole
//! installations are in the walks.

use serde_json::{Value, json};

use crate::database::{host_id, inventory, known_host, register, reply};
use crate::kube::Api;
use crate::kube_world::{NAMESPACE, SOON, World, infra_env};
use muster_tests::condition::await_condition;
use muster_tests::kube::Kubectl;

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/hcp-create-cluster-agent.yaml");

/// Of the HostedCluster and its NodePool.
const USERS: &str = "clusters";

/// Of what is made for them.
const MADE: &str = "clusters-vcluster2";

fn world() -> World {
    World::of(Api::BuiltIn.serve_with(|settings| settings.argument("--capi-provider")))
}

/// Path of the InfraEnv in the REST API; it needs no image here.
fn infra_env_path(world: &World) -> String {
    world.secret(muster_tests::rest::PULL_SECRET);
    world.kubectl.apply(&[infra_env(&json!({}))]);
    await_condition("REST to know the InfraEnv", SOON, || {
        let all = world.client().get("/infra-envs").expect(200).json();
        let id = all[0]["id"].as_str().map(|id| format!("/infra-envs/{id}"));
        id.ok_or_else(|| all.to_string())
    })
}

fn secret(name: &str, key: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {key: value}})
}

/// The bootstrap data of the pool.
fn user_data(users: &Kubectl, path: &str) {
    let config = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": path}]}});
    users.apply(&[secret("user-data-vcluster2", "value", &config.to_string())]);
}

fn items(kubectl: &Kubectl, kind: &str) -> Vec<Value> {
    kubectl.get(&[kind])["items"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

/// Waits until so many objects of a kind fit.
#[track_caller]
fn await_number(kubectl: &Kubectl, kind: &str, number: usize, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
    await_condition(&format!("{number} {kind}"), SOON, || {
        let found = items(kubectl, kind);
        if found.len() == number && found.iter().all(&fits) {
            Ok(found)
        } else {
            Err(format!("{found:#?}"))
        }
    })
}

#[test]
fn a_rendered_node_pool_takes_agents_and_gives_them_back() {
    let world = world();
    let path = infra_env_path(&world);
    let client = world.client();
    for n in 1..=2 {
        known_host(&client, &path, n);
    }
    let agents = await_number(&world.kubectl, "agents", 2, |_| true);
    for agent in &agents {
        world.patch_agent(
            agent["metadata"]["name"].as_str().unwrap(),
            &json!({"approved": true}),
        );
    }

    let users = world.service.kubectl().namespace(USERS);
    let made = world.service.kubectl().namespace(MADE);
    let printed = users.run(&["apply", "-f", MANIFEST]);
    assert!(
        printed.contains("hostedcluster.hypershift.openshift.io/vcluster2 created"),
        "{printed}"
    );
    assert!(
        printed.contains("nodepool.hypershift.openshift.io/vcluster2 created"),
        "{printed}"
    );
    users.run(&["apply", "-f", MANIFEST]);
    // What is missing is said, and what to do.
    let what = "the HostedCluster to ask for its kubeconfig";
    users.await_that(what, &["hostedcluster", "vcluster2"], SOON, |hosted| {
        let said = hosted["status"]["conditions"].to_string();
        said.contains("create the Secret clusters/vcluster2-admin-kubeconfig")
            .then_some(())
    });
    let kubeconfig = std::fs::read_to_string(users.kubeconfig()).unwrap();
    users.apply(&[
        secret("vcluster2-admin-kubeconfig", "kubeconfig", &kubeconfig),
        secret(
            "vcluster2-pull-secret",
            ".dockerconfigjson",
            muster_tests::rest::PULL_SECRET,
        ),
    ]);
    user_data(&users, "/etc/one");
    users.run(&[
        "wait",
        "--for=condition=Available",
        "hostedcluster/vcluster2",
        "--timeout=90s",
    ]);

    let scaled = users.run(&["scale", "nodepool/vcluster2", "--replicas", "2"]);
    assert_eq!(scaled.trim(), "nodepool.hypershift.openshift.io/vcluster2 scaled");
    await_number(&made, "machines", 2, |machine| {
        machine["status"]["phase"] == "Provisioning"
    });
    let taken = await_number(&made, "agentmachines", 2, |own| {
        own["status"]["agentRef"]["name"].is_string()
    });
    for own in &taken {
        assert_eq!(own["status"]["agentRef"]["namespace"], NAMESPACE);
    }
    await_number(&world.kubectl, "agents", 2, |agent| {
        agent["spec"]["clusterDeploymentName"]["name"] == "vcluster2"
    });
    let columns = |text: String| {
        text.lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        columns(users.run(&["get", "nodepools"])),
        "NAME CLUSTER DESIRED NODES CURRENT NODES AUTOSCALING AUTOREPAIR VERSION UPDATINGVERSION UPDATINGCONFIG MESSAGE"
    );
    assert_eq!(
        columns(users.run(&["get", "hostedclusters"])),
        "NAME VERSION KUBECONFIG PROGRESS AVAILABLE PROGRESSING MESSAGE"
    );
    let older = made.get(&["machines.v1beta1.cluster.x-k8s.io"]);
    let reference = &older["items"][0]["spec"]["infrastructureRef"];
    assert_eq!(
        reference["apiVersion"],
        "capi-provider.agent-install.openshift.io/v1beta1"
    );

    // A third Machine has no Agent, and everybody who is asked says so.
    users.run(&["scale", "nodepool/vcluster2", "--replicas", "3"]);
    await_number(&made, "machines", 3, |_| true);
    users.await_that(
        "the pool to say what is missing",
        &["nodepool", "vcluster2"],
        SOON,
        |pool| {
            let said = pool["status"]["conditions"].to_string();
            said.contains("NoSuitableAgents").then_some(())
        },
    );

    users.run(&["scale", "nodepool/vcluster2", "--replicas", "0"]);
    // The hosts start again, and find themselves in no cluster.
    await_condition("the Agents to be free", SOON, || {
        let agents = items(&world.kubectl, "agents");
        let is_free = |agent: &Value| agent["status"]["debugInfo"]["state"] == "known-unbound";
        for agent in agents.iter().filter(|agent| !is_free(agent)) {
            let n = (1..=2)
                .find(|n| agent["metadata"]["name"] == host_id(*n))
                .unwrap();
            let state = &agent["status"]["debugInfo"]["state"];
            if state == "binding" || state == "unbinding" {
                register(&client, &path, n);
            }
            // It is refused while the host is to start anew once more.
            let steps = format!("{path}/hosts/{}/instructions", host_id(n));
            client.post(&steps, &reply("inventory", &inventory(n)));
        }
        if agents.len() == 2 && agents.iter().all(is_free) {
            Ok(())
        } else {
            Err(format!("{agents:#?}"))
        }
    });
    await_number(&made, "machines", 0, |_| true);
    await_number(&made, "agentmachines", 0, |_| true);

    users.run(&["delete", "hostedcluster/vcluster2", "--timeout=90s"]);
    let namespaces = users.run(&["get", "namespaces", "-o", "name"]);
    assert!(!namespaces.contains(MADE), "{namespaces}");
    assert!(items(&users, "nodepools").is_empty());
}
