//! What kstatus and Argo CD make of the objects of each kind, as the controllers write them: good, on its way, and failed.

use std::collections::BTreeMap;
use std::time::Duration;

use muster_tests::condition::await_every;
use muster_tests::kube::{ClusterApi, ControlPlane, Health, Kubectl, Settings, Workload};
use muster_tests::walk::{
    FleetHosts, HARDWARE, Hub, Kubelets, MachineDeploymentWalk, apply_our_crds, name, state,
};
use serde_json::{Value, json};

const HOSTS: usize = 2;
const LIMIT: Duration = Duration::from_secs(300);
const AGENTS: &str = "agent-install.openshift.io/v1beta1";

#[test]
fn kstatus_and_argo_cd_see_of_each_kind_whether_it_is_as_it_should_be() {
    let plane = ControlPlane::start();
    let _cluster_api = ClusterApi::start(&plane);
    apply_our_crds(&plane);
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::real(Hub::settings_with(&FleetHosts::os_images(folder.path())), &plane);
    await_health(&hub.kubectl, &["infraenv", "hw"], &Health::good());
    let fleet = FleetHosts::start_lasting(&hub, HOSTS, folder.path());
    hub.approve_some(HOSTS, LIMIT);
    // Queries are evaluated for Agents.
    the_failed(&hub);

    let workload = Workload::start_with(Settings::default().without_heartbeats());
    let _kubelets = Kubelets::of_rebooting_agents(hub.api.clone(), Hub::agents_path(), workload.plane());
    let walk = MachineDeploymentWalk::begin(&hub, &workload);
    walk.scale(HOSTS);
    let mut seen = BTreeMap::new();
    walk.await_nodes(HOSTS, LIMIT, || {
        fleet.assert_running();
        for agent in hub.api.list(&Hub::agents_path()).unwrap_or_default() {
            let version = agent["metadata"]["resourceVersion"].to_string();
            seen.insert((name(&agent).to_owned(), version), agent);
        }
    });
    of_agents(seen.into_values().collect());
    an_agent_that_cannot_have_its_name(&hub);
    let workers = plane.kubectl().namespace(MachineDeploymentWalk::NAMESPACE);
    for object in ["agentcluster/lab", "agentclusterinstall/lab"] {
        await_health(&workers, &[object], &Health::good());
    }
    let machines = workers.get(&["agentmachines"])["items"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(Health::of(&machines), [Health::good(), Health::good()]);
    // There is no Agent for one more.
    walk.scale(HOSTS + 1);
    let what = "an AgentMachine that waits";
    await_every(Duration::from_secs(1), what, LIMIT, || {
        let machines = workers.get(&["agentmachines"])["items"].clone();
        let machines = machines.as_array().unwrap();
        let health = Health::of(machines);
        let waiting = health.iter().filter(|one| **one == Health::on_its_way()).count();
        let reserved = |machine: &&Value| machine["status"]["agentRef"].is_object();
        let free = machines.len() - machines.iter().filter(reserved).count();
        if (machines.len(), waiting, free) == (HOSTS + 1, 1, 1) {
            Ok(())
        } else {
            Err(format!("{health:?}"))
        }
    });
}

/// Objects that cannot come true.
fn the_failed(hub: &Hub) {
    let metadata = |name: &str| json!({"name": name, "namespace": HARDWARE});
    hub.kubectl.apply(&[
        json!({
            "apiVersion": AGENTS, "kind": "InfraEnv", "metadata": metadata("without-secret"),
            "spec": {"pullSecretRef": {"name": "nowhere"}},
        }),
        json!({
            "apiVersion": AGENTS, "kind": "AgentClassification", "metadata": metadata("good"),
            "spec": {"labelKey": "size", "labelValue": "large", "query": ".cpu.count >= 2"},
        }),
        json!({
            "apiVersion": AGENTS, "kind": "AgentClassification", "metadata": metadata("bad"),
            "spec": {"labelKey": "price", "labelValue": "low", "query": ".cpu.count <"},
        }),
        json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "BMC", "metadata": metadata("without-secret"),
            "spec": {"infraEnvRef": {"name": "hw"}, "address": "192.0.2.77", "credentialsName": "nowhere"},
        }),
    ]);
    for (object, health) in [
        ("infraenv/without-secret", Health::failed()),
        ("agentclassification/good", Health::good()),
        ("agentclassification/bad", Health::failed()),
        ("bmc/without-secret", Health::failed()),
    ] {
        await_health(&hub.kubectl, &[object], &health);
    }
}

/// No host is installed with that name.
fn an_agent_that_cannot_have_its_name(hub: &Hub) {
    let agents = hub.api.list(&Hub::agents_path()).unwrap();
    let free = agents.iter().find(|agent| agent["spec"]["approved"] != true);
    let agent = format!("agent/{}", name(free.unwrap()));
    let patch = json!({"spec": {"hostname": "localhost"}}).to_string();
    hub.kubectl
        .run(&["patch", &agent, "--type", "merge", "-p", &patch]);
    await_health(&hub.kubectl, &[&agent], &Health::failed());
}

#[track_caller]
fn await_health(kubectl: &Kubectl, object: &[&str], wanted: &Health) {
    let what = format!("{} to be {}", object.join("/"), wanted.kstatus);
    await_every(Duration::from_secs(1), &what, LIMIT, || {
        let object = kubectl.get(object);
        let health = Health::of(std::slice::from_ref(&object));
        if health[0] == *wanted {
            Ok(())
        } else {
            Err(format!("{health:?} {}", object["status"]))
        }
    });
}

/// Each Agent, at each moment, has the health of its state.
fn of_agents(mut agents: Vec<Value>) {
    agents.retain(|agent| {
        let conditions = agent["status"]["conditions"].as_array().into_iter().flatten();
        let mut synced = conditions.filter(|one| one["type"] == "SpecSynced");
        synced.any(|one| one["status"] == "True")
            && agent["status"]["observedGeneration"] == agent["metadata"]["generation"]
    });
    // Items of a list have no kind.
    for agent in &mut agents {
        agent["apiVersion"] = json!(AGENTS);
        agent["kind"] = json!("Agent");
    }
    let mut counts = BTreeMap::new();
    for (agent, health) in agents.iter().zip(Health::of(&agents)) {
        let state = state(agent);
        let wanted = match state {
            "known-unbound" | "added-to-existing-cluster" => Health::good(),
            "insufficient" | "insufficient-unbound" | "disconnected-unbound" => Health::failed(),
            "binding"
            | "discovering"
            | "discovering-unbound"
            | "known"
            | "installing"
            | "installing-in-progress" => Health::on_its_way(),
            _ => continue,
        };
        assert_eq!(health, wanted, "{state}: {}", agent["status"]["conditions"]);
        *counts.entry(wanted.kstatus).or_insert(0) += 1;
    }
    let kinds: Vec<&str> = counts.keys().map(String::as_str).collect();
    for kind in ["Current", "InProgress"] {
        assert!(kinds.contains(&kind), "{counts:?}");
    }
}
