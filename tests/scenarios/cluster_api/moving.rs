//! clusterctl installs Muster from the files of `make manifests`, makes a cluster of its template, and moves it to another management cluster
//! with the cluster running: the service goes along with its database, and nothing is installed again. The hosts are muster-fleet's, the
//! nodes are played; cert-manager is not there (`tests/src/kube/clusterctl.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use muster_tests::kube::{ClusterApi, Clusterctl, ControlPlane, PlayedControlPlanes};
use muster_tests::walk::{ControlPlaneWalk, FleetHosts, HARDWARE, Hub, name, state, summary};
use serde_json::Value;

const HOSTS: usize = 3;
const WORKERS: usize = 1;
const LIMIT: Duration = Duration::from_secs(600);
/// States of a host that was started from its disk. The API servers that are played do not have all that the service reads of a cluster, so that a
/// host can stay in the first one.
const INSTALLED: [&str; 2] = ["installing-in-progress", "added-to-existing-cluster"];
/// Beginnings of the names of events about a host's checks, and about what is seen of its node.
const OF_CHECKS: [&str; 3] = [
    "host_validation_",
    "muster_finding_",
    "host_install_progress_updated",
];
const KINDS: &str = "/apis/capi-provider.agent-install.openshift.io/v1beta1";

/// A management cluster that clusterctl has initialized.
struct Management {
    plane: ControlPlane,
    clusterctl: Clusterctl,
    _cluster_api: ClusterApi,
}

impl Management {
    fn initialized() -> Self {
        let plane = ControlPlane::start();
        let cluster_api = ClusterApi::with_kubeadm(&plane);
        let clusterctl = Clusterctl::new(&plane, &cluster_api);
        let printed = clusterctl.init();
        assert!(printed.contains("infrastructure-muster"), "{printed}");
        plane.kubectl().await_kinds();
        Self {
            plane,
            clusterctl,
            _cluster_api: cluster_api,
        }
    }
}

#[test]
fn a_running_cluster_moves_to_another_management_cluster_and_nothing_is_installed_again() {
    let from = Management::initialized();
    let folder = tempfile::tempdir().unwrap();
    let settings = Hub::settings_with(&FleetHosts::os_images(folder.path()));
    let mut hub = Hub::real_as(settings, &from.plane, &from.plane.installed_kubeconfig());
    let fleet = FleetHosts::start_lasting(&hub, HOSTS, folder.path());
    hub.approve_some(HOSTS, LIMIT);
    let played = PlayedControlPlanes::start();
    let (namespace, version) = (ControlPlaneWalk::CLUSTER.0, ControlPlaneWalk::VERSION);
    let manifests = from
        .clusterctl
        .generate(ControlPlaneWalk::CLUSTER, version, WORKERS, played.port());
    let mut walk = ControlPlaneWalk::of_manifests(&hub, &played, &manifests, WORKERS);
    walk.await_settled(1, LIMIT);
    let serving = walk.agents();
    assert_eq!(serving.len(), 1 + WORKERS);
    let (nodes, about) = walk.into_nodes();
    let before = recorded(&hub, &serving);

    let to = Management::initialized();
    let kubeconfig = to.plane.installed_kubeconfig();
    hub.move_to(&to.plane, &kubeconfig, || {
        let printed = from.clusterctl.move_to(&to.plane, namespace);
        assert!(printed.contains("Moving"), "{printed}");
    });
    let left = from.plane.kubectl().namespace(namespace);
    let machines = left.get(&["machines.cluster.x-k8s.io,agentmachines,agentclusters,clusterdeployments"]);
    assert_eq!(machines["items"].as_array().unwrap().len(), 0, "{machines}");

    let mut walk = ControlPlaneWalk::of_nodes(&hub, &played, nodes, about);
    await_taken_again(&hub, namespace, &serving);
    walk.await_settled(1, LIMIT);
    assert_eq!(walk.agents(), serving);
    assert_eq!(recorded(&hub, &serving), before);
    // It lives on: a spare host becomes the next worker.
    walk.scale_workers(WORKERS + 1);
    walk.await_settled(1, LIMIT);
    fleet.assert_running();
}

/// Waits until each AgentMachine has the Agent that it had, and that is bound and installed.
#[track_caller]
fn await_taken_again(hub: &Hub, namespace: &str, serving: &[String]) {
    let machines = format!("{KINDS}/namespaces/{namespace}/agentmachines");
    let what = "AgentMachines to have their Agents";
    hub.api.await_in(what, &machines, LIMIT, |machines| {
        let agents = hub.api.list(&Hub::agents_path())?;
        let is_served = |machine: &Value| {
            let reference = &machine["status"]["agentRef"];
            let agent = agents.iter().find(|agent| reference["name"] == name(agent))?;
            let is_same = machine["spec"]["providerID"] == format!("agent://{}", name(agent))
                && reference["namespace"] == HARDWARE
                && agent["metadata"]["labels"]["agentMachineRef"] == name(machine)
                && agent["spec"]["clusterDeploymentName"].is_object()
                && INSTALLED.contains(&state(agent));
            is_same.then(|| name(agent).to_owned())
        };
        let mut served: Vec<String> = machines.iter().filter_map(is_served).collect();
        let mut wanted = serving.to_vec();
        served.sort_unstable();
        wanted.sort_unstable();
        if served == wanted {
            Ok(())
        } else {
            let conditions = machines.iter().map(|one| one["status"]["conditions"].to_string());
            let seen = conditions.chain(agents.iter().map(summary));
            Err(seen.collect::<Vec<_>>().join("\n"))
        }
    });
}

/// What the service has recorded about hosts.
#[derive(Debug, PartialEq, Eq)]
struct Recorded {
    /// Ids of all hosts.
    ids: BTreeSet<String>,
    /// State, stage and events of each of the hosts in question. Checks and polls have no events.
    of_each: BTreeMap<String, [String; 3]>,
}

fn recorded(hub: &Hub, hosts: &[String]) -> Recorded {
    let http = hub.service.http();
    let infra_env = hub.infra_env_id();
    let all = http
        .get(&format!("/infra-envs/{infra_env}/hosts"))
        .expect(200)
        .json();
    let id = |host: &Value| host["id"].as_str().unwrap_or_default().to_owned();
    let all: Vec<&Value> = all.as_array().into_iter().flatten().collect();
    let of_one = |host: &&Value| {
        let id = id(host);
        let events = http
            .get(&format!("/events?host_id={id}&limit=-1"))
            .expect(200)
            .json();
        let names = events
            .as_array()
            .into_iter()
            .flatten()
            .map(|event| &event["name"]);
        let names = names.filter_map(Value::as_str);
        // How its cluster is seen changes while that has no resources.
        let names = names.filter(|name| !OF_CHECKS.iter().any(|of_check| name.starts_with(of_check)));
        let names = names.collect::<Vec<_>>().join(" ");
        let [status, stage] = [&host["status"], &host["progress"]["current_stage"]].map(Value::to_string);
        (id, [status, stage, names])
    };
    Recorded {
        ids: all.iter().map(|host| id(host)).collect(),
        of_each: all
            .iter()
            .filter(|host| hosts.contains(&id(host)))
            .map(of_one)
            .collect(),
    }
}
