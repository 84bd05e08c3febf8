//! KubeadmControlPlane, unmodified, makes control planes of Agents: its bootstrap data are kubeadm's, and no roll-out loses
//! the quorum of etcd. The hosts are muster-fleet's; their API servers and etcd members are played in memory.

use std::time::Duration;

use muster_tests::kube::{ClusterApi, ControlPlane, PlayedControlPlanes};
use muster_tests::walk::{ControlPlaneWalk, FleetHosts, Hub, apply_our_crds};

/// Hosts that are fit; a roll-out has one machine more than the control plane.
const HOSTS: usize = 6;
/// Each step of KubeadmControlPlane waits up to half a minute for its turn.
const LIMIT: Duration = Duration::from_secs(600);

#[test]
fn a_control_plane_rolls_out_and_grows_and_no_member_loses_its_host() {
    let plane = ControlPlane::start();
    let cluster_api = ClusterApi::with_kubeadm(&plane);
    apply_our_crds(&plane);
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::real(Hub::settings_with(&FleetHosts::os_images(folder.path())), &plane);
    let fleet = FleetHosts::start(&hub, HOSTS, folder.path());
    hub.approve_some(HOSTS, LIMIT);

    let played = PlayedControlPlanes::start();
    let mut walk = ControlPlaneWalk::begin(&hub, &played, "cloud-config");
    walk.await_settled(1, LIMIT);
    let first = walk.agents();
    walk.roll_out_to("second");
    walk.await_settled(1, LIMIT);
    assert_ne!(walk.agents(), first, "another host serves");
    walk.scale(3);
    walk.await_settled(3, LIMIT);
    fleet.assert_running();
    assert!(
        !cluster_api.log().contains("panic"),
        "Cluster API's controllers panicked"
    );
}
