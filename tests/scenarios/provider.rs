//! The Cluster API provider in the service: Machines take hosts, several at once, and give them back. The hosts are
//! played over REST, Cluster API's own controllers by kubectl.

use serde_json::{Value, json};

use crate::database::{host_id, inventory, known_host, register, reply};
use crate::kube::{Api, on_each_api};
use crate::kube_world::{NAMESPACE, SOON, World, infra_env, is, message};
use muster_tests::condition::await_condition;
use muster_tests::kube::Kubectl;

on_each_api!(
    machines_take_hosts_wait_with_reasons_and_give_them_back,
    a_provider_waits_for_cluster_api_and_holds_up_nothing_else,
);

/// Namespace of the control plane.
const CLUSTERS: &str = "clusters-one";

fn provider(api: Api) -> World {
    World::of(api.serve_with(|settings| settings.without_live_image().argument("--capi-provider")))
}

/// Path of the InfraEnv in REST.
fn make_infra_env(world: &World) -> String {
    world.secret(muster_tests::rest::PULL_SECRET);
    world.kubectl.apply(&[infra_env(&json!({}))]);
    await_condition("REST to know the InfraEnv", SOON, || {
        let all = world.client().get("/infra-envs").expect(200).json();
        let id = all[0]["id"].as_str();
        id.map(|id| format!("/infra-envs/{id}"))
            .ok_or_else(|| all.to_string())
    })
}

/// Makes Cluster API's kinds known, with any content, where they are not.
fn make_cluster_api(kubectl: &Kubectl) {
    for (kind, plural) in [("Cluster", "clusters"), ("Machine", "machines")] {
        let name = format!("{plural}.cluster.x-k8s.io");
        if kubectl.try_run(&["get", "crd", &name]).succeeded {
            continue;
        }
        let version = |name: &str| {
            json!({
                "name": name, "served": true, "storage": name == "v1beta2", "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            })
        };
        kubectl.apply(&[json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
            "spec": {
                "group": "cluster.x-k8s.io", "scope": "Namespaced", "versions": [version("v1beta1"), version("v1beta2")],
                "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            },
        })]);
        kubectl.run(&[
            "wait",
            "--for=condition=Established",
            &format!("crd/{name}"),
            "--timeout=60s",
        ]);
    }
}

fn owner(kubectl: &Kubectl, resource: &str, kind: &str, name: &str) -> Value {
    let uid = kubectl.get(&[resource, name])["metadata"]["uid"].clone();
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "name": name, "uid": uid})
}

/// A Cluster without a control plane of its own, its AgentCluster, and bootstrap data for its Machines.
fn make_cluster(kubectl: &Kubectl, name: &str) {
    kubectl.apply(&[
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": name},
            "spec": {
                "infrastructureRef": {
                    "apiGroup": "capi-provider.agent-install.openshift.io", "kind": "AgentCluster", "name": name,
                },
                "controlPlaneEndpoint": {"host": "api.example.test", "port": 6443},
            },
        }),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "user-data"},
            "stringData": {"value": json!({"ignition": {"version": "3.2.0"}, "systemd": {"units": [
                {"name": "x.service", "contents": "[Unit]"},
            ]}}).to_string()},
        }),
    ]);
    let owner = owner(kubectl, "clusters.cluster.x-k8s.io", "Cluster", name);
    kubectl.apply(&[json!({
        "apiVersion": "capi-provider.agent-install.openshift.io/v1beta1", "kind": "AgentCluster",
        "metadata": {"name": name, "ownerReferences": [owner]}, "spec": {},
    })]);
}

fn make_machine(kubectl: &Kubectl, cluster: &str, name: &str) {
    let labels = json!({"cluster.x-k8s.io/cluster-name": cluster});
    kubectl.apply(&[json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": name, "labels": labels, "finalizers": ["machine.cluster.x-k8s.io"]},
        "spec": {
            "clusterName": cluster, "bootstrap": {"dataSecretName": "user-data"},
            "infrastructureRef": {
                "apiGroup": "capi-provider.agent-install.openshift.io", "kind": "AgentMachine", "name": name,
            },
        },
    })]);
    let owner = owner(kubectl, "machines.cluster.x-k8s.io", "Machine", name);
    kubectl.apply(&[json!({
        "apiVersion": "capi-provider.agent-install.openshift.io/v1beta1", "kind": "AgentMachine",
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]}, "spec": {},
    })]);
}

fn await_cluster(kubectl: &Kubectl, name: &str) {
    kubectl.await_that(
        "the AgentCluster to be ready",
        &["agentcluster", name],
        SOON,
        |one| (one["status"]["ready"] == true).then_some(()),
    );
}

/// The Agent that the AgentMachine has taken.
fn await_agent(kubectl: &Kubectl, machine: &str) -> String {
    kubectl.await_that(
        &format!("{machine} to take an Agent"),
        &["agentmachine", machine],
        SOON,
        |one| one["status"]["agentRef"]["name"].as_str().map(str::to_owned),
    )
}

fn machines_take_hosts_wait_with_reasons_and_give_them_back(api: Api) {
    let world = provider(api);
    let kubectl = world.service.kubectl();
    make_cluster_api(&kubectl);
    kubectl.run(&["create", "namespace", CLUSTERS]);
    let kubectl = kubectl.namespace(CLUSTERS);
    let path = make_infra_env(&world);
    for n in 1..=3 {
        known_host(&world.client(), &path, n);
        world.await_agent(&host_id(n), "Validated", "True", "ValidationsPassing");
    }
    for n in 1..=2 {
        world.patch_agent(&host_id(n), &json!({"approved": true}));
    }
    for n in 1..=3 {
        make_machine(&kubectl, "one", &format!("m{n}"));
    }
    make_cluster(&kubectl, "one");
    await_cluster(&kubectl, "one");

    // Two get one each, the third one says why it gets none.
    let reserved = kubectl.await_that("two to have Agents", &["agentmachines"], SOON, |list| {
        let items = list["items"].as_array()?;
        let agents = items
            .iter()
            .filter_map(|one| one["status"]["agentRef"]["name"].as_str());
        let agents: Vec<String> = agents.map(str::to_owned).collect();
        let waits = items
            .iter()
            .find(|one| is(one, "AgentReserved", "False", "NoSuitableAgents"))?;
        (agents.len() == 2).then(|| (agents, waits.clone()))
    });
    let (agents, waiting) = reserved;
    assert_ne!(agents[0], agents[1]);
    let loser = waiting["metadata"]["name"].as_str().unwrap();
    kubectl.await_that("the reasons", &["agentmachine", loser], SOON, |one| {
        let reasons = one["status"]["candidates"].as_array()?;
        let of = |n| reasons.iter().find(|one| one["name"] == host_id(n));
        (of(1)?["reason"] == "TakenBy" && of(3)?["reason"] == "NotApproved").then_some(())
    });
    assert!(
        message(&waiting, "AgentReserved").contains("can be taken"),
        "{waiting}"
    );

    // The host goes into the cluster with what it needs.
    let machine = ["m1", "m2", "m3"]
        .into_iter()
        .find(|name| *name != loser)
        .unwrap();
    let agent = await_agent(&kubectl, machine);
    assert_eq!(
        kubectl.get(&["agentmachine", machine])["spec"]["providerID"],
        format!("agent://{agent}")
    );
    let n = (1..=2).find(|n| host_id(*n) == agent).unwrap();
    world.await_state(&agent, "binding");
    register(&world.client(), &path, n);
    let report = reply("inventory", &inventory(n));
    world
        .client()
        .post(&format!("{path}/hosts/{agent}/instructions"), &report)
        .expect(204);
    world.await_agent(&agent, "Bound", "True", "Bound");

    // The one that waited gets the next that becomes free.
    world.patch_agent(&host_id(3), &json!({"approved": true}));
    assert_eq!(await_agent(&kubectl, loser), host_id(3));

    // Scaled down: the Machine goes when its host has left the cluster.
    kubectl.run(&["delete", "machines.cluster.x-k8s.io", machine, "--wait=false"]);
    let conditions = json!([{
        "type": "Deleting", "status": "True", "reason": "WaitingForPreTerminateHook", "message": "",
        "lastTransitionTime": "2026-11-22T00:00:00Z",
    }]);
    let drained = json!({"status": {"conditions": conditions}}).to_string();
    let machine_name = format!("machines.cluster.x-k8s.io/{machine}");
    kubectl.run(&[
        "patch",
        &machine_name,
        "--subresource",
        "status",
        "--type",
        "merge",
        "-p",
        &drained,
    ]);
    kubectl.run(&["delete", "agentmachine", machine, "--wait=false"]);
    world.await_state(&agent, "unbinding");
    let message = kubectl.await_that("what it waits for", &["agentmachine", machine], SOON, |one| {
        is(one, "Deleting", "True", "WaitingForAgent").then(|| message(one, "Deleting").to_owned())
    });
    assert!(message.contains(&agent), "{message}");
    register(&world.client(), &path, n);
    kubectl.run(&[
        "wait",
        "--for=delete",
        &format!("agentmachine/{machine}"),
        "--timeout=90s",
    ]);
    // Where Cluster API is at work, it goes by itself then.
    let machine = kubectl.try_run(&["get", "-o", "json", "machines.cluster.x-k8s.io", machine]);
    assert!(!machine.out.contains("pre-terminate"), "{}", machine.out);
    let left = world.kubectl.get(&["agent", &agent]);
    assert_eq!(
        (
            &left["spec"]["approved"],
            left["spec"].get("clusterDeploymentName")
        ),
        (&json!(true), None),
        "{left}"
    );
}

fn a_provider_waits_for_cluster_api_and_holds_up_nothing_else(api: Api) {
    let world = provider(api);
    let kubectl = world.service.kubectl();
    let path = make_infra_env(&world);
    known_host(&world.client(), &path, 1);
    world.await_agent(&host_id(1), "Validated", "True", "ValidationsPassing");
    make_cluster_api(&kubectl);
    let kubectl = kubectl.namespace(NAMESPACE);
    make_cluster(&kubectl, "late");
    await_cluster(&kubectl, "late");
    kubectl.run(&["delete", "agentcluster", "late", "--timeout=60s"]);
    kubectl.run(&["wait", "--for=delete", "clusterdeployment/late", "--timeout=60s"]);
}
