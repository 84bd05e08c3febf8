//! Twenty hosts are installed at once on a real API server, for Machines that Cluster API's own controllers make: none
//! is lost, none claimed twice. Cluster API is installed after Muster, whose provider waits for its kinds and delays
//! nothing else. The hosts are muster-fleet's, their nodes are simulated (`tests/src/walk/kubelets.rs`).

use std::time::Duration;

use muster_tests::kube::{ClusterApi, ControlPlane, Settings, Workload};
use muster_tests::walk::{FleetHosts, Hub, Kubelets, MachineDeploymentWalk, apply_our_crds};

const HOSTS: usize = 20;
/// Twenty installations of some seconds each, on a computer that is busy with other tests.
const LIMIT: Duration = Duration::from_secs(300);

#[test]
fn twenty_hosts_are_installed_at_once_for_machines_of_a_cluster_api_that_comes_later() {
    let plane = ControlPlane::start();
    apply_our_crds(&plane);
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::real(Hub::settings_with(&FleetHosts::os_images(folder.path())), &plane);
    let fleet = FleetHosts::start(&hub, HOSTS, folder.path());
    hub.approve_some(HOSTS, LIMIT);

    let _cluster_api = ClusterApi::start(&plane);
    let workload = Workload::start_with(Settings::default().without_heartbeats());
    let _kubelets = Kubelets::of_rebooting_agents(hub.api.clone(), Hub::agents_path(), workload.plane());
    let walk = MachineDeploymentWalk::begin(&hub, &workload);
    walk.scale(HOSTS);
    let ids = walk.await_nodes(HOSTS, LIMIT, || fleet.assert_running());
    assert_eq!(ids.len(), HOSTS);
}
