//! A MachineHealthCheck of Cluster API's own controllers finds a worker whose kubelet ended: its host is rebooted first, and when that does
//! not help the Machine is replaced, by another Agent, and the sick host comes last. The hosts are muster-fleet's, with the agent on each
//! node; their kubelets are played.

use std::time::Duration;

use muster_tests::kube::{ClusterApi, ControlPlane, Workload};
use muster_tests::walk::{
    FleetHosts, Hub, Kubelets, MachineDeploymentWalk, apply_our_crds, hostname, name, state, summary,
};
use serde_json::Value;

const HOSTS: usize = 4;
const WORKERS: usize = 2;
/// The lifecycle of Nodes counts one as lost after less than a minute, and a rebooted host has a minute to become healthy.
const LIMIT: Duration = Duration::from_secs(400);
/// The answer of an Agent to a request to reboot its host.
const REBOOT: &str = "agent.agent-install.openshift.io/reboot";

#[test]
fn a_sick_worker_is_rebooted_then_replaced_and_its_host_comes_last() {
    let plane = ControlPlane::start();
    let _cluster_api = ClusterApi::start(&plane);
    apply_our_crds(&plane);
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::real(Hub::settings_with(&FleetHosts::os_images(folder.path())), &plane);
    let fleet = FleetHosts::start_lasting(&hub, HOSTS, folder.path());
    hub.approve_some(HOSTS, LIMIT);
    let workload = Workload::start();
    let kubelets = Kubelets::with_heartbeats(hub.api.clone(), Hub::agents_path(), workload.plane());
    let walk = MachineDeploymentWalk::begin(&hub, &workload);
    walk.scale(WORKERS);
    let first = walk.await_nodes(WORKERS, LIMIT, || fleet.assert_running());
    walk.check_health();

    let sick_id = &first[0];
    let sick = sick_id.trim_start_matches("agent://");
    kubelets.stop(&node_of(&hub, sick));
    await_rebooted(&hub, sick);
    let then = walk.await_nodes(WORKERS, LIMIT, || fleet.assert_running());
    assert!(
        !then.contains(sick_id) && then.contains(&first[1]),
        "{first:?}, then {then:?}"
    );
    await_return(&hub, sick);

    walk.scale(WORKERS + 1);
    let all_others = walk.await_nodes(WORKERS + 1, LIMIT, || fleet.assert_running());
    assert!(!all_others.contains(sick_id), "{all_others:?}");
    walk.scale(WORKERS + 2);
    assert_eq!(reason_against(&hub, sick), "FailedBefore");
    fleet.assert_running();
}

/// The name of the Node of that Agent.
fn node_of(hub: &Hub, agent: &str) -> String {
    let agents = hub.api.list(&Hub::agents_path()).unwrap();
    let found = agents.iter().find(|one| name(one) == agent).unwrap();
    hostname(found).to_owned()
}

/// The host is rebooted by the agent on its node before it is taken out of the cluster.
#[track_caller]
fn await_rebooted(hub: &Hub, sick: &str) {
    let what = "the sick host to be rebooted";
    hub.api.await_in(what, &Hub::agents_path(), LIMIT, |agents| {
        let agent = agents
            .iter()
            .find(|one| name(one) == sick)
            .ok_or("there is no Agent")?;
        assert!(
            agent["spec"]["clusterDeploymentName"].is_object(),
            "it was given back before it was rebooted:\n{}",
            summary(agent)
        );
        let answer = agent["metadata"]["annotations"][REBOOT]
            .as_str()
            .unwrap_or_default();
        let answer: Value = serde_json::from_str(answer).unwrap_or_default();
        match answer["outcome"].as_str() {
            Some("done") => Ok(()),
            Some("failed" | "refused") => panic!("it was not rebooted: {answer}"),
            _ => Err(format!("{answer}\n{}", summary(agent))),
        }
    });
}

/// The host is available again, and remembers that its node failed.
#[track_caller]
fn await_return(hub: &Hub, sick: &str) {
    let what = "the sick host to be available again";
    hub.api.await_in(what, &Hub::agents_path(), LIMIT, |agents| {
        let agent = agents
            .iter()
            .find(|one| name(one) == sick)
            .ok_or("there is no Agent")?;
        let is_free = state(agent) == "known-unbound" && agent["status"]["failures"]["count"] == 1;
        is_free
            .then_some(())
            .ok_or_else(|| format!("{}\n{}", agent["status"]["failures"], summary(agent)))
    });
}

/// The reason for which a Machine that waits does not take that Agent.
#[track_caller]
fn reason_against(hub: &Hub, sick: &str) -> String {
    let machines = MachineDeploymentWalk::list_of("agentmachines");
    let what = "a Machine to wait for an Agent";
    hub.api.await_in(what, &machines, LIMIT, |machines| {
        let candidates = machines
            .iter()
            .filter(|one| {
                one["status"]["agentRef"]["name"]
                    .as_str()
                    .is_none_or(str::is_empty)
            })
            .flat_map(|one| one["status"]["candidates"].as_array().into_iter().flatten());
        let mut reasons = candidates
            .filter(|one| one["name"] == sick)
            .filter_map(|one| one["reason"].as_str());
        reasons
            .next()
            .map(str::to_owned)
            .ok_or_else(|| machines.iter().map(|one| one["status"].to_string()).collect())
    })
}
