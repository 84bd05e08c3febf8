//! Twenty hosts are installed at once on a real API server, for Machines that Cluster API's own controllers make: none is
//! lost, none claimed twice. The hosts are muster-fleet's, their nodes are played (`tests/src/walk/kubelets.rs`).

use std::time::Duration;

use muster_tests::kube::{ClusterApi, ControlPlane, Settings, Workload};
use muster_tests::walk::{FleetHosts, Hub, Kubelets, MachineDeploymentWalk, apply_our_crds};

const HOSTS: usize = 20;
/// Twenty installations of some seconds each, on a computer that is busy with other tests.
const LIMIT: Duration = Duration::from_secs(300);

#[test]
fn twenty_hosts_are_installed_at_once_for_cluster_apis_machines() {
    let plane = ControlPlane::start();
    let _cluster_api = ClusterApi::start(&plane);
    apply_our_crds(&plane);
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::real(Hub::settings_with(&FleetHosts::os_images(folder.path())), &plane);
    let workload = Workload::start_with(Settings::default().without_heartbeats());
    let fleet = FleetHosts::start(&hub, HOSTS, folder.path());
    let _kubelets = Kubelets::of_rebooting_agents(hub.api.clone(), Hub::agents_path(), workload.plane());
    hub.approve_some(HOSTS, LIMIT);
    let walk = MachineDeploymentWalk::begin(&hub, &workload);
    walk.scale(HOSTS);
    let ids = walk.await_nodes(HOSTS, LIMIT, || fleet.assert_running());
    assert_eq!(ids.len(), HOSTS);
}
