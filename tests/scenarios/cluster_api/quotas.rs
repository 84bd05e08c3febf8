//! Two namespaces share a pool as its owner wants: by AgentQuotas, with `--capi-provider`. The hosts are simulated over REST, and this file makes
//! the objects that Cluster API's controllers would make.

use muster_tests::condition::await_condition;
use muster_tests::database::{host_id, known_host};
use muster_tests::kube::world::{INFRA_ENV, NAMESPACE, SOON, World, is};
use muster_tests::kube::{Api, KubeServed, Kubectl, control_plane, on_each_api};
use muster_tests::rest::PULL_SECRET;
use muster_tests::service::Settings;
use serde_json::{Value, json};

on_each_api!(two_namespaces_share_a_pool_as_its_owner_wants);

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const PROVIDER: &str = "capi-provider.agent-install.openshift.io/v1beta1";

/// The control plane of a HostedCluster `gold`, and a namespace of a team.
const GOLD: &str = "clusters-gold";
const TEAM: &str = "team";

fn two_namespaces_share_a_pool_as_its_owner_wants(api: Api) {
    let world = World::of(serve(api));
    let pool = open_pool(&world, &format!("{GOLD},{TEAM}"));
    for n in 1..=3 {
        known_host(&world.client(), &pool, n);
        world.await_state(&host_id(n), "known-unbound");
    }
    let gold = json!({"hostedCluster": {"namespace": "clusters", "name": "gold"}});
    world.kubectl.apply(&[
        quota("gold", &json!({"consumer": gold, "reserved": 1, "priority": 5})),
        quota("team", &json!({"consumer": {"namespace": TEAM}, "limit": 1})),
    ]);
    let contradiction = quota(
        "wrong",
        &json!({"consumer": {"namespace": "x"}, "limit": 1, "reserved": 2}),
    );
    let file = world.kubectl.file("wrong.yaml", &contradiction.to_string());
    let refused = world.kubectl.try_run(&["create", "-f", &file]);
    assert!(
        !refused.succeeded && refused.err.contains("reserved is above limit"),
        "{}",
        refused.err
    );

    let (gold, team) = (tenant(&world, GOLD), tenant(&world, TEAM));
    // One Agent is there, and it is reserved.
    approve(&world, 1);
    machine(&team, "t1");
    await_reason(&team, "t1", "Reserved", "gold (1)");
    approve(&world, 2);
    await_agent(&team, "t1");
    machine(&team, "t2");
    await_reason(&team, "t2", "QuotaExceeded", "allows this namespace 1 Agents");
    // Without its reservation, its priority counts.
    let none = json!({"spec": {"reserved": 0, "limit": 9}}).to_string();
    world
        .kubectl
        .run(&["patch", "agentquota", "gold", "--type=merge", "-p", &none]);
    machine(&gold, "g1");
    await_agent(&gold, "g1");
    machine(&gold, "g2");
    await_reason(&gold, "g2", "TakenBy", "AgentMachine of another namespace");
    let more = json!({"spec": {"limit": 2}}).to_string();
    world
        .kubectl
        .run(&["patch", "agentquota", "team", "--type=merge", "-p", &more]);
    let waiting = |quota: &Value| (quota["status"]["waiting"] == 1).then_some(());
    for name in ["gold", "team"] {
        let what = format!("{name} to wait");
        world
            .kubectl
            .await_that(&what, &["agentquota", name], SOON, waiting);
    }
    approve(&world, 3);
    await_agent(&gold, "g2");
    let status = world
        .kubectl
        .await_that("the counts", &["agentquota", "gold"], SOON, |quota| {
            (quota["status"]["used"] == 2 && is(quota, "Ready", "True", "InForce")).then(|| quota.clone())
        });
    assert_eq!(status["status"]["consumerNamespace"], GOLD);
    let waits = team.get(&["agentmachine", "t2"]);
    assert!(waits["status"]["agentRef"].is_null(), "{waits}");
    let printed = waits["status"].to_string();
    assert!(!printed.contains("g1") && !printed.contains("g2"), "{printed}");
    let listed = world.kubectl.run(&["get", "agentquotas"]);
    assert!(listed.contains(GOLD) && listed.contains("InForce"), "{listed}");
}

/// A service with the provider, on an API that has the kinds of Cluster API.
fn serve(api: Api) -> KubeServed {
    if api == Api::BuiltIn {
        return api.serve_with(|settings| settings.argument("--capi-provider"));
    }
    let plane = control_plane();
    let kubectl = plane.kubectl();
    for kind in ["clusters", "machines"] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../api-spec/crds/builtin");
        let file = format!("{folder}/cluster.x-k8s.io_{kind}.yaml");
        kubectl.run(&["apply", "--server-side", "-f", &file]);
    }
    kubectl.await_kinds();
    let settings = Settings::on_address("127.0.0.1").without_live_image();
    let settings = settings.kubeconfig(&plane.service_kubeconfig());
    let service = settings.argument("--capi-provider").start();
    let served = KubeServed::on_real(service, plane);
    served.await_leading();
    served
}

/// The InfraEnv, which gives its hosts to Machines of these namespaces (separated by commas); returns its path below REST.
pub fn open_pool(world: &World, namespaces: &str) -> String {
    world.secret(PULL_SECRET);
    let mut infra_env = muster_tests::kube::world::infra_env(&json!({}));
    infra_env["metadata"]["annotations"] =
        json!({"infraenv.agent-install.openshift.io/agents-for-namespaces": namespaces});
    world.kubectl.apply(&[infra_env]);
    await_condition("REST to know the InfraEnv", SOON, || {
        let all = world.client().get("/infra-envs").expect(200).json();
        let mut listed = all.as_array().into_iter().flatten();
        let found = listed.find(|one| one["name"] == INFRA_ENV);
        let id = found.and_then(|one| one["id"].as_str());
        id.map(|id| format!("/infra-envs/{id}"))
            .ok_or_else(|| all.to_string())
    })
}

pub fn approve(world: &World, host: u64) {
    let agent = host_id(host);
    world.patch_agent(
        &agent,
        &json!({"approved": true, "hostname": format!("host-{host}")}),
    );
    world.await_agent(&agent, "RequirementsMet", "True", "AgentIsReady");
}

fn quota(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "AgentQuota", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    })
}

/// A namespace with a Cluster; returns its administrator.
pub fn tenant(world: &World, namespace: &str) -> Kubectl {
    world.kubectl.run(&["create", "namespace", namespace]);
    let kubectl = world.kubectl.namespace(namespace);
    kubectl.apply(&[json!({
        "apiVersion": CAPI, "kind": "Cluster", "metadata": {"name": "one"},
        "spec": {
            "infrastructureRef": {"apiGroup": "capi-provider.agent-install.openshift.io", "kind": "AgentCluster", "name": "one"},
            "controlPlaneEndpoint": {"host": "api.example.test", "port": 6443},
        },
    })]);
    let owner = owner(&kubectl.get(&["clusters.cluster.x-k8s.io", "one"]));
    kubectl.apply(&[json!({
        "apiVersion": PROVIDER, "kind": "AgentCluster",
        "metadata": {
            "name": "one", "ownerReferences": [owner],
            "annotations": {"capi-provider.agent-install.openshift.io/agent-namespace": NAMESPACE},
        },
        "spec": {"controlPlaneEndpoint": {"host": "api.example.test", "port": 6443}},
    })]);
    kubectl
}

/// A Machine without bootstrap data, and its AgentMachine.
pub fn machine(kubectl: &Kubectl, name: &str) {
    let labels = json!({"cluster.x-k8s.io/cluster-name": "one"});
    kubectl.apply(&[json!({
        "apiVersion": CAPI, "kind": "Machine", "metadata": {"name": name, "labels": labels},
        "spec": {
            "clusterName": "one", "bootstrap": {},
            "infrastructureRef": {"apiGroup": "capi-provider.agent-install.openshift.io", "kind": "AgentMachine", "name": name},
        },
    })]);
    let owner = owner(&kubectl.get(&["machines.cluster.x-k8s.io", name]));
    kubectl.apply(&[json!({
        "apiVersion": PROVIDER, "kind": "AgentMachine",
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]}, "spec": {},
    })]);
}

fn owner(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
    })
}

pub fn await_agent(kubectl: &Kubectl, name: &str) {
    let what = format!("{name} to have an Agent");
    kubectl.await_that(&what, &["agentmachine", name], SOON, |machine| {
        machine["status"]["agentRef"]["name"].is_string().then_some(())
    });
}

/// Waits until an Agent is not taken for this reason, with this in its message.
pub fn await_reason(kubectl: &Kubectl, name: &str, reason: &str, message: &str) {
    let what = format!("{name} to wait: {reason}");
    kubectl.await_that(&what, &["agentmachine", name], SOON, |machine| {
        let mut candidates = machine["status"]["candidates"].as_array()?.iter();
        let said = |one: &Value| one["message"].as_str().is_some_and(|text| text.contains(message));
        candidates
            .any(|one| one["reason"] == reason && said(one))
            .then_some(())
    });
}
